"""How a supervisor ends its tree, by both process back ends (§6)."""

import fcntl
import os
import signal
import sys
from collections.abc import Iterator

import psutil
import pytest
from attempt_cases import (
    ONE_SUPERVISOR,
    PSUTIL,
    SECONDS,
    AttemptSite,
    is_running,
    say_pid,
    wait_until,
)

from sow.paths import Workspace
from sow.processes import linux as linux_facts
from sow.processes import portable as portable_facts
from sow.processes import process_facts, procfs
from worker.supervisor.foreign_processes import NO_ATTEMPT

pytestmark = [
    pytest.mark.slow,  # trees of processes that ignore what they are told
    pytest.mark.skipif(sys.platform != "linux", reason="the tests read /proc"),
]


@pytest.fixture(params=["linux", "portable"])
def attempt(request: pytest.FixtureRequest, workspace: Workspace) -> Iterator[AttemptSite]:
    """An attempt whose supervisor uses each back end."""
    site = AttemptSite(workspace, packages=PSUTIL if request.param == "portable" else None)
    yield site
    site.close()


@pytest.fixture
def linux(workspace: Workspace) -> Iterator[AttemptSite]:
    """An attempt whose supervisor is a subreaper."""
    site = AttemptSite(workspace)
    yield site
    site.close()


@pytest.fixture
def portable(workspace: Workspace) -> Iterator[AttemptSite]:
    """An attempt whose supervisor has to remember what it saw."""
    site = AttemptSite(workspace, packages=PSUTIL)
    yield site
    site.close()


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_asked_to_end_it_interrupts_the_agent_first(
    attempt: AttemptSite, signum: signal.Signals
) -> None:
    """ "Ending one: SIGINT, wait, SIGTERM, wait, SIGKILL"."""
    process = attempt.sh(f"trap 'echo interrupted; exit 9' INT; {say_pid('up')}; sleep 600 & wait")
    attempt.pid_in("up")
    process.send_signal(signum)
    assert process.wait(SECONDS) == 0
    assert attempt.paths.output.read_text() == "interrupted\n"
    assert (attempt.exit()["code"], attempt.exit()["by_request"]) == (9, True)


def test_an_interrupt_reaches_the_foreground_of_a_shell_script(attempt: AttemptSite) -> None:
    """§7: "Shell scripts are executors": a shell waits for its child before it heeds ^C."""
    process = attempt.sh(f"{say_pid('up')}; sleep 600; echo went on")
    shell = psutil.Process(attempt.pid_in("up"))
    # An interrupt that comes while the shell starts it may be lost: then the shell is terminated.
    wait_until(lambda: [each.name() for each in shell.children()] == ["sleep"], "it sleeps")
    process.terminate()
    assert process.wait(SECONDS) == 0
    assert attempt.exit()["signal"] == signal.SIGINT
    assert attempt.paths.output.read_text() == ""


def test_tools_that_end_themselves_are_not_terminated(attempt: AttemptSite) -> None:
    """An interrupted agent CLI ends its own tools: they have the first grace for it."""
    tool = "trap 'echo terminated' TERM; trap 'sleep 0.1; echo ended; exit' USR1"
    attempt.script("tool", f"{tool}; {{pid}}; while :; do sleep 0.01; done")
    agent = "trap 'kill -USR1 $!; wait $!; wait $!; exit 6' INT; setsid sh tool.sh & wait"
    process = attempt.sh(agent)
    attempt.pid_in("tool")
    process.terminate()
    assert process.wait(SECONDS) == 0
    assert attempt.exit()["code"] == 6
    assert attempt.paths.output.read_text() == "ended\n"


def test_an_agent_that_ignores_interrupts_is_terminated(attempt: AttemptSite) -> None:
    script = f"trap '' INT; trap 'echo terminated; exit 8' TERM; {say_pid('up')}; sleep 600 & wait"
    process = attempt.sh(script, impatient=True)
    attempt.pid_in("up")
    process.terminate()
    assert process.wait(SECONDS) == 0
    assert attempt.paths.output.read_text() == "terminated\n"
    assert attempt.carriers() == []


def test_the_whole_tree_is_ended_whatever_it_ignores(attempt: AttemptSite) -> None:
    """ "to the *whole tree*: agent CLIs put their shell commands in sessions of their own"."""
    attempt.script("tool", "trap '' INT TERM HUP; {pid}; while :; do sleep 1; done")
    stubborn = f"trap '' INT TERM HUP; {say_pid('agent')}; while :; do sleep 1; done"
    process = attempt.sh(f"setsid sh tool.sh & {stubborn}", impatient=True)
    agent, tool = attempt.pid_in("agent"), attempt.pid_in("tool")
    assert os.getsid(tool) == tool
    process.terminate()
    assert process.wait(SECONDS) == 0
    assert not is_running(agent)
    assert not is_running(tool)
    assert attempt.carriers() == []
    assert attempt.exit()["signal"] == signal.SIGKILL


def test_a_daemon_that_left_its_parents_is_still_found(attempt: AttemptSite) -> None:
    """ "The supervisor is a subreaper": an orphan is reparented to it, not to init."""
    attempt.script("daemon", "trap '' INT TERM; {pid}; while :; do sleep 1; done")
    process = attempt.sh("(setsid sh daemon.sh &); sleep 600", impatient=True)
    daemon = attempt.pid_in("daemon")
    process.terminate()
    assert process.wait(SECONDS) == 0
    assert not is_running(daemon)


WAIT_FOR_LEFT = "while [ ! -e left ]; do sleep 0.01; done"


def test_what_an_agent_left_in_the_background_is_ended_after_it(attempt: AttemptSite) -> None:
    """ "The same after an agent that exits by itself: what it left in the background is ended"."""
    attempt.script("left", "trap '' HUP INT; {pid}; exec sleep 600")
    record = attempt.run(f"setsid sh left.sh & {WAIT_FOR_LEFT}; exit 4")
    assert (record["code"], record["by_request"]) == (4, False)
    assert not is_running(attempt.pid_in("left"))


CLOSED = "exec 0<&- 1>&- 2>&- 3>&- 4>&-; {pid}; exec sleep 600"
CLEARED = "env -i PATH=$PATH setsid sh left.sh"


def test_a_leftover_without_its_descriptors_is_ended_too(attempt: AttemptSite) -> None:
    attempt.script("left", CLOSED)
    attempt.run(f"setsid sh left.sh & {WAIT_FOR_LEFT}")
    assert not is_running(attempt.pid_in("left"))


def test_a_subreaper_loses_none_that_has_cleared_its_environment(linux: AttemptSite) -> None:
    linux.script("left", CLOSED)
    linux.run(f"{CLEARED} & {WAIT_FOR_LEFT}")
    assert not is_running(linux.pid_in("left"))


def test_without_a_subreaper_one_that_was_seen_is_remembered(portable: AttemptSite) -> None:
    """Snapshots taken while waiting find it, though it has left its parents since."""
    portable.script("left", CLOSED)
    process = portable.sh(f"({CLEARED} & while [ ! -e seen ]; do sleep 0.01; done)", impatient=True)
    left = portable.pid_in("left")
    portable.await_looks()
    portable.file("seen").touch()
    assert process.wait(SECONDS) == 0
    assert not is_running(left)


def test_exit_json_is_written_when_nothing_is_left(attempt: AttemptSite) -> None:
    """ "verify that nothing is left": whoever reads `exit.json` finds nobody alive."""
    attempt.script(
        "left", "trap 'sleep 0.3; exit' TERM; {pid}; while :; do sleep 0.05 & wait $!; done"
    )
    attempt.sh(f"setsid sh left.sh & {WAIT_FOR_LEFT}")
    left = attempt.pid_in("left")
    wait_until(attempt.paths.exit.exists, "exit.json")
    assert not is_running(left)


def test_a_request_that_comes_while_leftovers_are_ended_is_no_second_ending(
    attempt: AttemptSite,
) -> None:
    attempt.script("left", "trap '' TERM; {pid}; while :; do sleep 0.05; done")
    process = attempt.sh(f"setsid sh left.sh & {WAIT_FOR_LEFT}; exit 5", impatient=True)
    agent = attempt.agent_pid()
    wait_until(lambda: not is_running(agent), "the agent has ended")
    process.terminate()
    assert process.wait(SECONDS) == 0
    assert (attempt.exit()["code"], attempt.exit()["by_request"]) == (5, False)


WORKER = "{pid}; sh below.sh & wait"


def register(attempt: AttemptSite, pid: int, name: str = "w1.lock") -> None:
    """Write a worker's lock file as a worker with the same back end does."""
    backend = linux_facts if attempt.packages is None else portable_facts
    identity = backend.identify(pid)
    assert identity is not None
    attempt.workspace.workers.mkdir(parents=True)
    (attempt.workspace.workers / name).write_text(f"{pid} {identity.start_ticks}\n")


@pytest.mark.parametrize("registered", [True, False])
def test_a_registered_worker_is_spared_with_all_below_it(
    attempt: AttemptSite, registered: bool
) -> None:
    """ "Ending a tree skips registered workers …: a worker that an agent's own `sow` call started
    must not die with that agent"."""
    attempt.script("left", WORKER)
    attempt.script("below", "{pid}; exec sleep 600")
    process = attempt.sh("setsid sh left.sh & while [ ! -e go ]; do sleep 0.01; done")
    pids = attempt.pid_in("left"), attempt.pid_in("below")
    register(attempt, pids[0], "w1.lock" if registered else "w1.note")
    attempt.file("go").touch()
    assert process.wait(SECONDS) == 0
    assert [is_running(pid) for pid in pids] == [registered, registered]


def test_a_registered_worker_beside_the_agent_is_not_even_interrupted(
    attempt: AttemptSite,
) -> None:
    """As `sow worker &` in a shell script leaves it: in the agent's own process group."""
    attempt.script("left", f"trap 'touch signalled' INT TERM\n{WORKER}")
    attempt.script("below", "{pid}; exec sleep 600")
    process = attempt.sh("sh left.sh & while :; do sleep 0.1; done")
    worker, below = attempt.pid_in("left"), attempt.pid_in("below")
    assert os.getpgid(worker) == attempt.agent_pid()
    register(attempt, worker)
    process.terminate()
    assert process.wait(SECONDS) == 0
    assert [is_running(worker), is_running(below)] == [True, True]
    assert not attempt.file("signalled").exists()


def test_a_registration_of_a_reused_pid_spares_nobody(attempt: AttemptSite) -> None:
    """ "Identity of a process = pid, raw start ticks, …"."""
    workers = attempt.workspace.workers
    workers.mkdir(parents=True)
    attempt.script("left", f"echo $$ 12345 >{workers}/w1.lock; {{pid}}; exec sleep 600")
    attempt.run(f"setsid sh left.sh & {WAIT_FOR_LEFT}")
    assert not is_running(attempt.pid_in("left"))


def test_another_attempt_s_supervisor_is_spared(attempt: AttemptSite) -> None:
    """ "… other attempts' supervisors and everything below them"."""
    other = AttemptSite(attempt.workspace, number=2)
    other.prepare()
    attempt.file("orders").write_bytes(other.orders("/bin/sh", "-c", "sleep 600"))
    attempt.file("supervisor.py").write_text(ONE_SUPERVISOR)
    attempt.run(
        f"SOW_ATTEMPT_ID={NO_ATTEMPT} setsid {sys.executable} -I -S supervisor.py <orders & "
        f"while [ ! -e {other.paths.started} ]; do sleep 0.01; done"
    )
    assert is_running(other.agent_pid())
    other.kill_carriers()


@pytest.mark.parametrize("packages", [None, PSUTIL], ids=["linux", "portable"])
@pytest.mark.parametrize("held", [True, False])
def test_a_worker_of_the_other_back_end_is_spared_by_its_lock(
    workspace: Workspace, packages: str | None, held: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its start is told in other words; that it holds its lock proves it."""
    attempt = AttemptSite(workspace, packages=packages)
    workspace.workers.mkdir(parents=True)
    attempt.script("left", "{pid}; exec sleep 600")
    process = attempt.sh(
        f"setsid sh left.sh & {WAIT_FOR_LEFT}; while [ ! -e go ]; do sleep 0.01; done"
    )
    pid = attempt.pid_in("left")
    if packages is None:
        monkeypatch.setenv("SOW_PROCESSES", "portable")
    identity = process_facts.identify(pid)
    assert identity is not None
    with (workspace.workers / "w1.lock").open("w") as lock:
        lock.write(f"{pid} {identity.start_ticks}\n")
        lock.flush()
        if held:
            fcntl.flock(lock, fcntl.LOCK_EX)
        attempt.file("go").touch()
        assert process.wait(SECONDS) == 0
    assert is_running(pid) is held
    attempt.close()


# who gets which signal


NOTING = "trap 'echo INT >>got.NAME' INT; trap 'echo TERM >>got.NAME' TERM; {pid}"
STUBBORN = f"{NOTING}; while :; do sleep 0.05 & wait $!; done"
"""It naps in a fork: dash 0.5.12 drops a signal that reaches it while it starts a plain command by
vfork."""


def got(attempt: AttemptSite, name: str) -> list[str]:
    path = attempt.file(f"got.{name}")
    return path.read_text().split() if path.exists() else []


def test_the_agent_is_interrupted_its_tools_are_terminated_all_are_killed(
    attempt: AttemptSite,
) -> None:
    """ "SIGINT, wait, SIGTERM, wait, SIGKILL": each once, and the agent's CLI comes first."""
    for name in ("agent", "tool"):
        attempt.script(name, STUBBORN.replace("NAME", name))
    process = attempt.sh("setsid sh tool.sh & exec sh agent.sh", impatient=True)
    pids = [attempt.pid_in(name) for name in ("agent", "tool")]
    process.terminate()
    assert process.wait(SECONDS) == 0
    assert got(attempt, "agent") == ["INT", "TERM"]
    assert got(attempt, "tool") == ["TERM"]
    assert [is_running(pid) for pid in pids] == [False, False]
    assert (attempt.exit()["code"], attempt.exit()["signal"]) == (None, signal.SIGKILL)


def test_further_requests_begin_nothing_anew(attempt: AttemptSite) -> None:
    attempt.script("agent", STUBBORN.replace("NAME", "agent"))
    process = attempt.sh("exec sh agent.sh", impatient=True)
    attempt.pid_in("agent")
    process.terminate()
    wait_until(lambda: got(attempt, "agent"), "it is interrupted")
    for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        process.send_signal(signum)
    assert process.wait(SECONDS) == 0
    assert got(attempt, "agent") == ["INT", "TERM"]
    assert attempt.exit()["by_request"] is True


def test_a_request_that_finds_the_agent_ended_is_none(attempt: AttemptSite) -> None:
    process = attempt.sh("while [ ! -e go ]; do sleep 0.01; done; exit 3")
    agent = attempt.agent_pid()
    process.send_signal(signal.SIGSTOP)
    attempt.file("go").touch()
    wait_until(lambda: not is_running(agent), "the agent has ended")
    process.terminate()
    process.send_signal(signal.SIGCONT)
    assert process.wait(SECONDS) == 0
    assert (attempt.exit()["code"], attempt.exit()["by_request"]) == (3, False)


# processes that do not play along


def test_a_stopped_process_is_woken_to_be_terminated(attempt: AttemptSite) -> None:
    """A stopped process heeds no SIGTERM until it goes on."""
    attempt.script(
        "left", "trap 'touch terminated; exit' TERM; {pid}; while :; do sleep 0.05 & wait $!; done"
    )
    process = attempt.sh(
        f"setsid sh left.sh & {WAIT_FOR_LEFT}; kill -STOP $!; touch stopped; sleep 600 & wait"
    )
    left = attempt.pid_in("left")
    wait_until(attempt.file("stopped").exists, "it is stopped")
    process.terminate()
    assert process.wait(SECONDS) == 0
    assert not is_running(left)
    assert attempt.file("terminated").exists()


def test_an_agent_that_stops_itself_runs_on_and_can_be_ended(attempt: AttemptSite) -> None:
    process = attempt.sh("trap 'exit 9' INT; kill -STOP $$; sleep 600 & wait")
    agent = attempt.agent_pid()
    wait_until(lambda: state_of(agent) == "T", "it has stopped")
    process.terminate()
    assert process.wait(SECONDS) == 0
    assert (attempt.exit()["code"], attempt.exit()["by_request"]) == (9, True)


def state_of(pid: int) -> str:
    stat = procfs.read_stat(pid)
    return stat.state if stat else ""


def test_a_loop_that_forks_without_end_is_ended(attempt: AttemptSite) -> None:
    attempt.script("loop", "trap '' TERM INT; {pid}; while :; do sleep 600 & sleep 0.02; done")
    process = attempt.sh("setsid sh loop.sh & sleep 600 & wait", impatient=True)
    attempt.pid_in("loop")
    process.terminate()
    assert process.wait(SECONDS) == 0
    assert attempt.carriers() == []


def test_a_chain_that_forks_faster_than_one_look_is_ended(linux: AttemptSite) -> None:
    """Each has ended when it is looked at, and has left a child: their group is killed."""
    linux.script("chain", "trap '' TERM INT; {pid}; next() { next & }; next")
    process = linux.sh("setsid sh chain.sh & sleep 600 & wait", impatient=True)
    group = linux.pid_in("chain")
    process.terminate()
    assert process.wait(SECONDS) == 0
    with pytest.raises(ProcessLookupError):
        os.killpg(group, 0)
