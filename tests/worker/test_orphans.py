"""What a killed supervisor left behind, ended by the worker's looks (§6)."""

import os
import signal
import subprocess
import sys

import psutil
import pytest
from attempt_cases import AttemptSite, is_running, wait_until
from capabilities import skip_or_fail
from watch_cases import WatchSite, dead_process

from sow.jobs import jobs
from sow.processes import cgroup, process_facts, tree_linux
from sow.schema.job import Job
from worker.attempt_processes import STEPS, has_ended, pids_of, press
from worker.running import Running

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the tests read /proc"),
    pytest.mark.slow,  # it starts and ends trees of processes
]


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
        identity = process_facts.identify(process.pid)
        jobs.change_attempt(self.site.database, self.job.id, 1, supervisor=identity)
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


DAEMON = "(env -i PATH=$PATH setsid sh daemon.sh &); exec sleep 600"
"""Leaves its parents, its session and its environment."""


@pytest.mark.parametrize("keeps", ["nothing", "its lock"])
def test_a_daemon_that_has_cleared_its_environment_is_ended_after_its_agent(
    orphaned: Orphaned, monkeypatch: pytest.MonkeyPatch, keeps: str
) -> None:
    """It was born into its supervisor's group; or, where there are none, it has the lock open."""
    monkeypatch.setenv("SOW_PROCESSES", "linux")
    if keeps == "nothing" and not can_fence():
        skip_or_fail("no group of processes can be made here")
    if keeps == "its lock":
        monkeypatch.setattr(tree_linux, "fenced", lambda *_: [])
    attempt = orphaned.attempt
    close = "exec 0<&- 1>&- 2>&- 3>&- 4>&- 5>&- 6>&-;" if keeps == "nothing" else ""
    attempt.script("daemon", f"{close} {{pid}}; exec sleep 600")
    running = orphaned.start(DAEMON, "daemon")
    agent, daemon = attempt.agent_pid(), attempt.pid_in("daemon")
    press(running, now=0.0)
    assert [is_running(agent), is_running(daemon)] == [True, True]
    assert not has_ended(running)
    os.kill(agent, signal.SIGKILL)
    wait_until(lambda: not is_running(agent), "the agent has ended")
    assert not has_ended(running)
    press_until_gone(running)
    assert not is_running(daemon)
    assert has_ended(running)


def can_fence() -> bool:
    """Whether this machine lets us make groups of processes."""
    home = cgroup.own_home()
    return bool(home) and os.access(home, os.W_OK)


def test_whoever_only_reads_an_attempt_s_files_does_not_hold_its_lock(
    orphaned: Orphaned, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOW_PROCESSES", "linux")
    running = orphaned.start("exec sleep 600")
    lock = running.paths.alive_lock
    with lock.open() as read:
        reader = subprocess.Popen(["sleep", "60"], pass_fds=[read.fileno()])
    assert tree_linux.lock_holders(str(lock)) == [orphaned.attempt.agent_pid()]
    reader.kill()
    reader.wait()
    press_until_gone(running)


def test_a_registered_worker_with_the_id_is_left_alone_with_all_below_it(
    orphaned: Orphaned,
) -> None:
    """As an agent's own `sow worker &` leaves it; it may be the very one that looks."""
    attempt = orphaned.attempt
    attempt.script("worker", "trap 'touch signalled' INT TERM; {pid}; sh below.sh & wait")
    attempt.script("below", "{pid}; exec sleep 600")
    running = orphaned.start("setsid sh worker.sh & wait", "worker", "below")
    worker, below = attempt.pid_in("worker"), attempt.pid_in("below")
    identity = process_facts.identify(worker)
    assert identity is not None
    attempt.workspace.workers.mkdir(parents=True, exist_ok=True)
    lock = attempt.workspace.workers / "w1.lock"
    lock.write_text(f"{worker} {identity.start_ticks}\n")
    press_until_gone(running)
    assert [is_running(worker), is_running(below)] == [True, True]
    assert not attempt.file("signalled").exists()
