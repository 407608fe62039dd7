"""Workers that calls start: as many as needed, cut loose, gone when idle (§5)."""

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from journeys.callers import await_end, await_runs, exists, gate, good, open_gate, queue
from journeys.site import DEADLINE_SECONDS, Site, wait_until
from journeys.staff import nothing_is_taken, start_worker, write_program
from standins import read_runs

from sow.jobs import workers
from sow.paths import Workspace
from sow.schema.job import JobState

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def started_workers(site: Site) -> list[Path]:
    """Return the log of each worker that was ever started in the background."""
    return sorted(site.root.glob(".sow/run/workers/*.log"))


def the_worker(site: Site) -> dict[str, Any]:
    (worker,) = site.workers()
    record: dict[str, Any] = worker
    return record


def poke(site: Site) -> None:
    """Ring the workers, so that they look round now and not in a few seconds."""
    workers.wake(Workspace(site.root))


def test_many_callers_at_once_start_one_worker(site: Site) -> None:
    """ "make sure a worker is alive: if none holds its lock, start one in the background"."""
    tasks = [f"{number:03}" for number in range(10, 70, 10)]
    site.project(*tasks)
    callers = [site.start("agent", "spawn", "implementer", task) for task in tasks]
    ends = [caller.communicate(timeout=240) for caller in callers]
    assert [caller.returncode for caller in callers] == [0] * len(tasks), ends
    assert len(started_workers(site)) == 1
    assert [each["alive"] for each in site.workers()] == [True]
    assert len(read_runs(site.root)) == len(tasks)
    nothing_is_taken(site)


def test_it_leaves_by_itself_when_idle(site: Site) -> None:
    """ "which ends by itself after an idle time"."""
    site.configure({"worker": {"idle_exit": "1s"}})
    site.project("010")
    site.sow("agent", "spawn", "implementer", "010")
    worker = the_worker(site)
    wait_until(lambda: not exists(worker["pid"]), "the worker has left")
    assert site.workers() == []
    assert "nothing to do; leaving" in site.worker_logs()
    left = {path.suffix for path in (site.root / ".sow/run/workers").iterdir() if path.suffix}
    assert left == {".log"}
    nothing_is_taken(site)


def test_it_does_not_leave_while_anything_is_to_end(site: Site) -> None:
    """ "gives up its registration in a transaction that requires no job in a non-final state"."""
    site.configure({"worker": {"idle_exit": "1ms"}})
    site.project("010", "020")
    site.script([good(gate("go"))])
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    await_runs(site)
    worker = the_worker(site)
    site.sow("agent", "spawn", "implementer", "020", "--detach")
    await_runs(site, 2)
    open_gate(site, "go")
    for task in ("010", "020"):
        assert await_end(site, task).state is JobState.DONE
    wait_until(lambda: poke(site) or not exists(worker["pid"]), "the worker has left")
    assert len(started_workers(site)) == 1


HESITATING = """
    import sys, time
    from pathlib import Path

    import worker.main

    leave = worker.main.strike_off

    def hesitate(context):
        Path({leaving!r}).touch()
        while not Path({go!r}).exists():
            time.sleep(0.01)
        leave(context)

    worker.main.strike_off = hesitate

    from sow.cli.root import run

    sys.exit(run(["worker", "--background"]))
"""


def test_a_job_that_arrives_while_the_worker_leaves_is_run_by_its_successor(site: Site) -> None:
    """One that has given up its registration is no staff any more, though its lock is held."""
    site.configure({"worker": {"idle_exit": "1ms"}})
    site.project("010")
    leaving, go = site.base / "leaving", site.base / "go"
    text = HESITATING.format(leaving=str(leaving), go=str(go))
    program = [sys.executable, "-P", str(write_program(site, "hesitating.py", text))]
    subprocess.run(program, cwd=site.root, env=site.environment(), check=True)
    wait_until(lambda: poke(site) or leaving.exists(), "the worker leaves")
    (leaver,) = started_workers(site)
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    assert await_end(site, "010").state is JobState.DONE
    go.touch()
    wait_until(lambda: "left" in leaver.read_text(), "the first worker has left")
    assert len(started_workers(site)) == 2
    assert len(read_runs(site.root)) == 1


def test_a_job_that_arrives_while_a_worker_drains_is_run_by_another(site: Site) -> None:
    """One that was told to leave waits for its agents, and takes no other job meanwhile."""
    site.configure({"worker": {"autostart": False}})
    site.project("010", "020")
    site.script([good(gate("go"))], "010")
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    draining = start_worker(site, "--drain")
    await_runs(site)
    site.configure({"worker": {"autostart": True}})
    draining.signal(signal.SIGTERM)
    draining.wait_for("draining: waiting for 1 agents")
    site.sow("agent", "spawn", "implementer", "020", "--detach")
    assert await_end(site, "020").state is JobState.DONE
    assert draining.process.poll() is None
    open_gate(site, "go")
    assert await_end(site, "010").state is JobState.DONE
    assert draining.wait() == 0


def test_no_call_counts_on_a_worker_that_is_being_stopped(site: Site) -> None:
    """It was told to stop, and has not noticed so far: here it is held in the middle."""
    site.project("010")
    stopped = start_worker(site)
    stopped.freeze(site)
    site.start("worker", "stop", stopped.name)
    with closing(queue(site)) as database:
        wait_until(lambda: not workers.staff(database, Workspace(site.root)), "it is to leave")
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    assert await_end(site, "010").state is JobState.DONE
    stopped.signal(signal.SIGCONT)
    assert stopped.wait() == 0


def test_a_worker_that_leaves_at_once_never_leaves_a_job_behind(site: Site) -> None:
    """Jobs that come while it runs, ends and leaves: whichever they meet, they are run."""
    site.configure({"worker": {"idle_exit": "1ms"}})
    tasks = [f"{number:03}" for number in range(10, 60, 10)]
    site.project(*tasks)
    for number, task in enumerate(tasks):
        site.sow("agent", "spawn", "implementer", task, "--detach")
        if number % 2:
            await_end(site, task)
            poke(site)
    for task in tasks:
        assert await_end(site, task).state is JobState.DONE
    nothing_is_taken(site)


@linux_only
def test_it_inherits_nothing_that_describes_its_caller(site: Site) -> None:
    """§6: "An autostarted worker drops all `SOW_*` and nesting variables".

    `/proc` shows the variables that a process began with: nothing here is forked.
    """
    site.project("010")
    caller = {
        "CLAUDECODE": "1",
        "CLAUDE_CODE_SESSION_ID": "x",
        "CURSOR_AGENT": "1",
        "AI_AGENT": "x",
        "SOW_WAIT": "100s",
        "SOW_AGENT": "orchestrator",
        "SOW_TASK_ID": "990",
        "SOW_JOB_ID": "990",
        "SOW_ATTEMPT_ID": "990.1.abc",
        "SOW_ROOT": str(site.root),
        "KEPT": "yes",
    }
    spawn = site.start("agent", "spawn", "implementer", "010", env=caller)
    assert spawn.wait(DEADLINE_SECONDS) == 0
    environ = Path(f"/proc/{the_worker(site)['pid']}/environ").read_bytes().decode()
    names = {entry.partition("=")[0] for entry in environ.split("\0")}
    assert [name for name in names if name.startswith("SOW_")] == []
    assert names & {"CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CURSOR_AGENT", "AI_AGENT"} == set()
    assert {"KEPT", "PATH", "HOME"} <= names


@linux_only
def test_it_is_cut_loose_from_its_caller(site: Site) -> None:
    """ "start one in the background, detached"."""
    site.project("010")
    site.sow("agent", "spawn", "implementer", "010")
    worker = the_worker(site)
    pid = worker["pid"]
    assert worker["background"] is True
    assert os.getsid(pid) not in (os.getsid(0), pid)
    (log,) = started_workers(site)
    assert log.stem == worker["worker"]
    assert log.stat().st_mode & 0o777 == 0o600
    links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in (0, 1, 2)]  # noqa: PTH115
    assert links == ["/dev/null", str(log), str(log)]
    assert Path(f"/proc/{pid}/cwd").readlink() == site.root


def test_a_worker_in_a_terminal_serves_calls_and_no_other_is_started(site: Site) -> None:
    site.project("010")
    worker = start_worker(site)
    site.sow("agent", "spawn", "implementer", "010")
    assert [each["worker"] for each in site.workers()] == [worker.name]
    assert started_workers(site) == []


def test_it_finds_the_configuration_that_its_caller_named(site: Site) -> None:
    """SOW_CONFIG is the caller's variable; the worker is told by an option instead."""
    site.project("010")
    elsewhere = site.base / "elsewhere.yaml"
    elsewhere.write_text("worker: {concurrency: 7}\n")
    site.sow("agent", "spawn", "implementer", "010", env={"SOW_CONFIG": str(elsewhere)})
    assert the_worker(site)["concurrency"] == 7
