"""What a killed supervisor left behind, ended by the worker's looks (§6)."""

import sys

import psutil
import pytest
from attempt_cases import AttemptSite, is_running, wait_until
from watch_cases import WatchSite, dead_process

from sow.processes import facts
from sow.schema.job import Job
from worker.orphans import STEPS, pids_of, press
from worker.running import Running

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the tests read /proc")


@pytest.fixture(params=["linux", "portable"], autouse=True)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each back end of the worker."""
    monkeypatch.setenv("SOW_PROCESSES", request.param)
    name: str = request.param
    return name


@pytest.fixture
def orphaned(site: WatchSite) -> "Orphaned":
    return Orphaned(site)


class Orphaned:
    """An attempt whose supervisor is killed once its agent is as the test wants it."""

    def __init__(self, site: WatchSite) -> None:
        self.site = site
        self.job: Job = site.job()
        site.lease(self.job)
        self.attempt: AttemptSite = site.attempt(self.job, supervisor=dead_process())

    def start(self, script: str, *pids: str) -> Running:
        """Run a script until these files name pids; kill the supervisor; adopt the attempt."""
        process = self.attempt.sh(script)
        self.attempt.agent_pid()
        for name in pids:
            self.attempt.pid_in(name)
        process.kill()
        process.wait()
        return self.site.adopt(self.job)


def press_until_gone(running: Running) -> None:
    """Look again and again, as the monitor does, each time a second later."""
    running.asked_to_end = True
    now = [0.0]

    def gone() -> bool:
        press(running, now=now[0])
        now[0] += 1.0
        return not pids_of(running)

    wait_until(gone, "nothing is left")


def test_a_stopped_process_is_woken_to_be_terminated(orphaned: Orphaned) -> None:
    attempt = orphaned.attempt
    work = "while :; do sleep 0.02; done"
    attempt.script("tool", f"trap 'touch terminated; exit' TERM; {{pid}}; kill -STOP $$; {work}")
    running = orphaned.start("setsid sh tool.sh & wait", "tool")
    tool = attempt.pid_in("tool")
    wait_until(lambda: psutil.Process(tool).status() == psutil.STATUS_STOPPED, "it has stopped")
    running.asked_to_end = True
    press(running, now=0.0)
    press(running, now=STEPS[1][0])
    wait_until(lambda: not is_running(tool), "it has ended")
    assert attempt.file("terminated").exists()
    press_until_gone(running)


def test_a_child_without_the_id_is_ended_with_its_parent(orphaned: Orphaned) -> None:
    """ "to the *whole tree*": what is below a process that carries the id."""
    attempt = orphaned.attempt
    attempt.script("bare", "trap '' INT TERM HUP; {pid}; while :; do sleep 1; done")
    attempt.script("tool", "trap '' INT; {pid}; env -u SOW_ATTEMPT_ID sh bare.sh")
    running = orphaned.start("setsid sh tool.sh & wait", "tool", "bare")
    bare = attempt.pid_in("bare")
    assert bare in pids_of(running)
    press_until_gone(running)


def test_a_registered_worker_with_the_id_is_left_alone_with_all_below_it(
    orphaned: Orphaned,
) -> None:
    """As an agent's own `sow worker &` leaves it; it may be the very one that looks."""
    attempt = orphaned.attempt
    attempt.script("worker", "trap 'touch signalled' INT TERM; {pid}; sh below.sh & wait")
    attempt.script("below", "{pid}; exec sleep 60")
    running = orphaned.start("setsid sh worker.sh & wait", "worker", "below")
    worker, below = attempt.pid_in("worker"), attempt.pid_in("below")
    identity = facts.identify(worker)
    assert identity is not None
    attempt.workspace.workers.mkdir(parents=True, exist_ok=True)
    lock = attempt.workspace.workers / "w1.lock"
    lock.write_text(f"{worker} {identity.start_ticks}\n")
    press_until_gone(running)
    assert [is_running(worker), is_running(below)] == [True, True]
    assert not attempt.file("signalled").exists()
