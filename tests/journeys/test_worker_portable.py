"""Workers whose process facts come from the portable back end, and from both (§6: "a test switch").

Where it matters which worker uses which, each test says so; what concerns proof of death and the
ending of a tree with Linux's alone is in the other journeys.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from capabilities import skip_or_fail
from journeys.callers import (
    HANG,
    Step,
    await_end,
    await_runs,
    await_state,
    await_waiters,
    exists,
    gate,
    good,
    job_of,
    open_gate,
)
from journeys.site import SOW, Site, wait_until
from journeys.staff import (
    QUICK,
    WorkerRun,
    attempt_of,
    await_supervisor,
    drain,
    kill,
    nothing_is_taken,
    start_worker,
    write_program,
)
from standins import read_runs

import sow
import worker as worker_package
from sow.schema.job import JobState

CHILD: list[Step] = [
    {"background": "echo $$ > .standin/child.pid; exec sleep 1000"},
    {"wait_for": ".standin/child.pid"},
]


@pytest.fixture
def portable(site: Site) -> Site:
    site.env["SOW_PROCESSES"] = "portable"
    site.configure({"worker": QUICK})
    site.project("010")
    return site


def spawn(site: Site) -> None:
    site.sow("agent", "spawn", "implementer", "010", "--detach")


def test_an_agent_is_adopted(portable: Site) -> None:
    portable.script([good(gate("go"))])
    spawn(portable)
    worker = start_worker(portable)
    (run,) = await_runs(portable)
    await_supervisor(portable, 1)
    identity = attempt_of(portable, 1).supervisor
    assert identity is not None
    assert identity.pid_namespace.startswith("psutil:")
    worker.kill()
    heir = start_worker(portable, "--drain")
    heir.wait_for("adopted: attempt 1")
    assert exists(run.pid)
    open_gate(portable, "go")
    assert heir.wait() == 0
    assert await_end(portable, "010").state is JobState.DONE
    assert len(read_runs(portable.root)) == 1
    nothing_is_taken(portable)


def test_an_agent_that_died_with_its_worker_is_resumed(portable: Site) -> None:
    portable.script([good({"say": "working"}, gate("never")), good()])
    spawn(portable)
    worker = start_worker(portable)
    (run,) = await_runs(portable)
    supervisor = await_supervisor(portable, 1)
    wait_until(lambda: portable.task("010").get("session", {}).get("started"), "a session")
    worker.kill()
    kill(supervisor, run.pid)
    drain(portable)
    first, second = read_runs(portable.root)
    assert (second.verb, second.session_id) == ("resume", first.session_id)
    nothing_is_taken(portable)


def test_an_agent_is_cancelled_with_what_it_started_and_without_its_supervisor(
    portable: Site,
) -> None:
    portable.script([[{"background": "exec sleep 300"}, *HANG]])
    start_worker(portable)
    caller = portable.start("agent", "spawn", "implementer", "010", "--json")
    await_waiters(portable, "010")
    (run,) = await_runs(portable)
    kill(await_supervisor(portable, 1))
    portable.sow("agent", "cancel", "010")
    assert not exists(run.pid)
    out, _ = caller.communicate(timeout=240)
    assert (caller.returncode, json.loads(out)["status"]) == (7, "paused")
    nothing_is_taken(portable)


OURS = tuple(f"{Path(str(package.__file__)).parent}/" for package in (sow, worker_package))
"""The folders of our own packages. A name in the path tells nothing: git calls a clone `sow`."""

WITHOUT_LINUX = f"""
    import os, signal, sys
    for module, name in ((os, "pidfd_open"), (signal, "sigtimedwait"), (signal, "sigwaitinfo")):
        delattr(module, name)

    def forbid(event, arguments):
        if event not in ("ctypes.dlopen", "open", "os.listdir", "os.scandir"):
            return
        caller = sys._getframe(1).f_code.co_filename
        if not caller.startswith({OURS!r}):
            return
        if event == "ctypes.dlopen" or str(arguments[0]).startswith("/proc"):
            raise RuntimeError(f"macOS has no {{arguments[0]}}")

    sys.addaudithook(forbid)
"""
"""What begins a program that may call nothing that only Linux has; psutil itself reads /proc."""


@pytest.fixture
def in_a_clone_named_sow(portable: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run Python, and with it psutil, from an environment below a folder named `sow`."""
    environment = portable.base / "sow/.venv"
    environment.parent.mkdir()
    environment.symlink_to(sys.prefix)
    program = Path(sys.executable).relative_to(sys.prefix)
    monkeypatch.setattr(sys, "executable", str(environment / program))


@pytest.mark.usefixtures("in_a_clone_named_sow")
def test_worker_and_supervisor_call_nothing_that_only_linux_has(portable: Site) -> None:
    own_root = Path(__file__).parents[2]
    supervisor = write_program(
        portable,
        "supervisor.py",
        f"""{WITHOUT_LINUX}
    sys.path.append({str(own_root)!r})
    from worker.supervisor.forking import main
    sys.exit(main(sys.argv[1:]))
    """,
    )
    worker = write_program(
        portable,
        "worker.py",
        f"""{WITHOUT_LINUX}
    from pathlib import Path
    from sow.__main__ import main
    from worker import fork_servers
    fork_servers.PROGRAM = Path({str(supervisor)!r})
    sys.argv[1:1] = ["worker"]
    sys.exit(main())
    """,
    )
    portable.script([[*CHILD, *HANG], good()])
    start_worker(portable, program=worker, SOW_PROCESSES="portable")
    spawn(portable)
    (run,) = await_runs(portable)
    child = child_of(portable)
    portable.sow("agent", "cancel", "010")
    assert [exists(pid) for pid in (run.pid, child)] == [False, False]
    portable.sow("agent", "resume", "010", "Go on.")
    assert portable.task("010")["status"] == "needs_review"
    supervisor_said = [path.read_text() for path in portable.root.glob(".sow/run/jobs/*/*/*.log")]
    assert not any("macOS" in text for text in supervisor_said)


def child_of(site: Site) -> int:
    """Return the pid of what the agent has left in a session of its own."""
    path = Path(site.root, ".standin/child.pid")
    return int(wait_until(lambda: path.exists() and path.read_text().strip(), "a child"))


def test_a_running_job_is_cancelled_with_its_whole_tree(portable: Site) -> None:
    portable.script([[*CHILD, *HANG]])
    start_worker(portable)
    caller = portable.start("agent", "spawn", "implementer", "010", "--json")
    (run,) = await_runs(portable)
    child = child_of(portable)
    portable.sow("agent", "cancel", "010")
    assert [exists(pid) for pid in (run.pid, child)] == [False, False]
    out, _ = caller.communicate(timeout=240)
    assert (caller.returncode, json.loads(out)["status"]) == (7, "paused")
    nothing_is_taken(portable)


def test_an_agent_that_runs_too_long_is_ended_with_its_whole_tree(portable: Site) -> None:
    limits = {"claude-code": {"timeout": "1s"}}
    portable.configure({"worker": QUICK, "agents": {"executors": limits}})
    portable.script([[*CHILD, *HANG]])
    start_worker(portable)
    result = portable.sow("agent", "spawn", "implementer", "010", "--json", expect=1).json
    assert result["cause"] == "timed_out"
    assert not exists(child_of(portable))


@pytest.mark.one_of
@pytest.mark.parametrize(
    ("first", "second"), [("linux", "portable"), ("portable", "linux")], ids=["to", "from"]
)
def test_a_worker_restarted_with_the_other_back_end_calls_nobody_dead(
    portable: Site, first: str, second: str
) -> None:
    portable.script([good(*CHILD, gate("go"))])
    spawn(portable)
    worker = start_worker(portable, SOW_PROCESSES=first)
    (run,) = await_runs(portable)
    child = child_of(portable)
    worker.kill()
    heir = start_worker(portable, "--drain", SOW_PROCESSES=second)
    heir.wait_for("adopted: attempt 1")
    open_gate(portable, "go")
    assert heir.wait() == 0
    assert await_end(portable, "010").state is JobState.DONE
    assert len(read_runs(portable.root)) == 1
    assert [exists(pid) for pid in (run.pid, child)] == [False, False]


@pytest.mark.one_of
@pytest.mark.parametrize("processes", ["linux", "portable"])
@pytest.mark.parametrize("orphaned", [False, True], ids=["supervised", "orphaned"])
def test_a_worker_that_an_agent_has_started_outlives_that_agent(
    site: Site, processes: str, orphaned: bool
) -> None:
    """ "an agent spawns another task with no worker alive, the first is cancelled, the second
    finishes". This worker even carries the id of the agent's attempt."""
    yolo = {"claude-code": {"settings": {"yolo_mode": True}}}
    site.configure({"worker": QUICK, "agents": {"executors": yolo}})
    site.project("010", agent="orchestrator")  # another may not start a worker
    site.add_tasks("020", agent="implementer")
    work = f"SOW_PROCESSES={processes} sow worker > .standin/worker.log 2>&1"
    site.script([[gate("alone"), {"background": work}, *HANG]], "010")
    site.script([good(gate("go"))], "020")
    site.sow("agent", "spawn", "010", "--detach")
    worker = start_worker(site, SOW_PROCESSES=processes)
    (parent,) = await_runs(site)
    supervisor = await_supervisor(site, 1)
    worker.kill()
    if orphaned:
        kill(supervisor)
    open_gate(site, "alone")
    site.sow("agent", "spawn", "implementer", "020", "--detach")
    (child,) = (run for run in await_runs(site, 2) if run.task == "020")
    site.sow("agent", "cancel", "010")
    assert [exists(pid) for pid in (parent.pid, child.pid)] == [False, True]
    open_gate(site, "go")
    assert await_end(site, "020").state is JobState.DONE
    (worker,) = site.workers()
    assert worker["alive"] is True


def test_a_worker_in_another_pid_namespace_calls_nobody_dead_and_signals_nobody(
    site: Site,
) -> None:
    """§6: "another namespace is `unverifiable`: never called dead, never signalled". What it
    adopts runs until its supervisor says how it ended."""
    site.configure({"worker": QUICK})
    site.project("010", "020", "030")
    site.script([good(gate("go"))], "010")
    site.script([good()], "020")
    site.script([good()], "030")
    spawn(site)
    worker = start_worker(site)
    (run,) = await_runs(site)
    await_supervisor(site, 1)
    worker.kill()
    elsewhere = start_in_namespace(site)
    elsewhere.wait_for("adopted: attempt 1")
    site.sow("agent", "spawn", "implementer", "020")  # meanwhile it has looked several times
    assert exists(run.pid)
    await_state(site, "010", JobState.RUNNING)
    canceller = site.start("agent", "cancel", "010")
    wait_until(lambda: cancel_is_requested(site), "the request to cancel")
    site.sow("agent", "spawn", "implementer", "030")
    assert exists(run.pid)
    await_state(site, "010", JobState.RUNNING)
    open_gate(site, "go")
    assert await_end(site, "010").state.is_final
    canceller.communicate(timeout=240)
    assert site.task("010")["status"] == "needs_review"
    assert [each.task for each in read_runs(site.root)].count("010") == 1
    nothing_is_taken(site)


def cancel_is_requested(site: Site) -> bool:
    job = job_of(site, "010")
    return job is not None and job.cancel_requested_at is not None


def start_in_namespace(site: Site) -> WorkerRun:
    """Start a worker over the same checkout that sees no process of ours."""
    unshare = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode != 0:
        skip_or_fail("only root can make a pid namespace")
    log = site.base / "elsewhere.log"
    with log.open("w") as file:
        process = subprocess.Popen(
            [*unshare, str(SOW), "worker"],
            cwd=site.root,
            env=site.environment(),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            text=True,
        )
    site.started.append(process)
    return WorkerRun(process, log)
