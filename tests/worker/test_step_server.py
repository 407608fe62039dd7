"""The fork server for programs of ours, and the steps that its supervisors fork."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from attempt_cases import PROJECT, SECONDS, AttemptSite, wait_until

from sow.config.checks import CheckCommand
from sow.environment import own_process
from sow.processes import environment_block, process_facts, procfs
from sow.processes.fork_server import ForkServer, Waiting
from sow.processes.life import Life
from worker.fork_servers import fork_servers, step_server, supervisor_server
from worker.steps.program_input import CheckOrders

pytestmark = [
    pytest.mark.skipif(
        sys.platform != "linux", reason="only Linux tells where an environment lies"
    ),
    pytest.mark.slow,  # it starts servers, and steps of theirs
]
SERVERS: dict[str, Callable[..., ForkServer]] = {
    "forked": step_server,
    "new interpreter": supervisor_server,
}
LOOK = """\
until grep -q '^State:.S' /proc/$PPID/status; do sleep 0.01; done
for name in environ cmdline status stat; do cat /proc/$PPID/$name >"$name"; done
for fd in /proc/$PPID/fd/*; do echo "${fd##*/} $(readlink "$fd")"; done >files
env >env
"""
"""What tells how the process is that runs it, a check, once that waits for its end: while Python
starts a process, it blocks all signals."""
FEW = {"PATH": os.environ["PATH"]}
"""An environment without a locale: Python makes one up, for what it runs as well."""
REAL = ~(3 << 31)
"""All signals but the two that the C library has for itself."""
WAIT = "echo $PPID >pid; mv pid step; until test -e go; do sleep 0.05; done"

LATE_SUPERVISOR = f"""
import os, sys, time
sys.path[:0] = [{str(PROJECT)!r}]
from worker.steps import forked
from worker.supervisor import supervise
from worker.supervisor.own_processes import load_tree
setpgid, started = os.setpgid, sys.argv[1]
def set_late(pid, group):
    while pid and not open(f"/proc/{{pid}}/cmdline").read().startswith("sh"):
        time.sleep(0.01)
    setpgid(pid, group)
os.setpgid = set_late
script = f"until test -e {{started}}; do sleep 0.01; done; exit 7"
forked.run_program = lambda *words: os.execv("/bin/sh", ["sh", "-c", script])
sys.exit(supervise.main(load_tree(None), forked.start))
"""
"""A supervisor that the system lets wait until its step has become another program."""


@contextmanager
def checking(server: ForkServer, attempt: AttemptSite, line: str, **more: str) -> Iterator[Waiting]:
    """Give the orders for a check of one command line."""
    orders = CheckOrders(
        folder=str(attempt.paths.folder),
        cwd=str(attempt.root),
        commands=(CheckCommand(name="look", run=line, timeout_seconds=240.0),),
    )
    attempt.prepare(msgspec.json.encode(orders).decode())
    environ = {
        "PATH": os.environ["PATH"],
        "SOW_ROOT": str(attempt.root),
        "SOW_ATTEMPT_ID": attempt.attempt_id,
        **more,
    }
    with server.forked() as waiting:
        waiting.give(attempt.orders(*own_process("worker.steps", "check"), env=environ))
    yield waiting
    wait_until(lambda: process_facts.life_of(waiting.identity) is Life.DEAD, "it has ended")
    server.close()


def looked_at(server: ForkServer, attempt: AttemptSite, **more: str) -> dict[str, object]:
    """Return how a check's process is."""
    with checking(server, attempt, LOOK, **more):
        pass
    assert attempt.exit()["code"] == 0, attempt.paths.stderr.read_text()
    assert b'"passed"' in attempt.paths.result.read_bytes()

    def text(name: str) -> str:
        return attempt.file(name).read_text()

    status = dict(line.split(":\t") for line in text("status").splitlines())
    parent, group, session = map(int, text("stat").rpartition(") ")[2].split()[1:4])
    assert (parent, group) == (session, int(status["Pid"]))  # its supervisor leads the session
    return {
        "environ": sorted(filter(None, text("environ").split("\0"))),
        "files": text("files").splitlines(),
        "env": sorted(text("env").splitlines()),
        "signals": [int(status[name], 16) & REAL for name in ("SigBlk", "SigIgn", "SigCgt")],
        "threads": status["Threads"],
    }


def is_reading(pid: int) -> bool:
    """Whether a step sleeps, and Python has its handler of SIGINT: it reads its orders."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    status = dict(line.split(":\t", 1) for line in lines)
    return status["State"][0] == "S" and bool(int(status["SigCgt"], 16) & 1 << signal.SIGINT - 1)


def test_a_forked_step_is_like_a_new_interpreter(attempt: AttemptSite) -> None:
    forked = looked_at(step_server(FEW), attempt)
    assert "worker.steps.server" in attempt.file("cmdline").read_text()
    again = AttemptSite(attempt.workspace, number=1, token=attempt.token)
    for path in attempt.paths.folder.iterdir():
        path.unlink()
    assert looked_at(supervisor_server(FEW), again) == forked
    assert f"SOW_ATTEMPT_ID={attempt.attempt_id}" in str(forked["environ"])


def test_a_step_is_found_by_its_attempt_while_it_runs(attempt: AttemptSite) -> None:
    with checking(step_server(os.environ), attempt, WAIT) as waiting:
        pid = attempt.pid_in("step")
        assert pid == attempt.agent_pid()
        assert pid in attempt.carriers()
        assert waiting.identity.pid not in attempt.carriers()
        attempt.file("go").touch()


def test_the_servers_death_takes_no_step_along(attempt: AttemptSite) -> None:
    server = step_server(os.environ)
    with checking(server, attempt, WAIT):
        attempt.pid_in("step")
        assert server._process is not None
        server._process.kill()
        server._process.wait()
        attempt.file("go").touch()
    assert attempt.exit()["code"] == 0


@pytest.mark.parametrize("kind", SERVERS)
def test_an_interrupt_ends_a_step_by_that_signal(attempt: AttemptSite, kind: str) -> None:
    attempt.prepare()
    attempt.paths.prompt.unlink()
    os.mkfifo(attempt.paths.prompt)  # the step reads it for as long as it is open here
    server = SERVERS[kind](os.environ)
    with server.forked() as waiting:
        waiting.give(attempt.orders(*own_process("worker.steps", "check")))
    with attempt.paths.prompt.open("w"):
        pid = attempt.agent_pid()
        wait_until(
            lambda: is_reading(pid), "Python has begun: before, an interrupt may end it by 1"
        )
        os.kill(pid, signal.SIGINT)
        wait_until(attempt.paths.exit.exists, "it has ended")
    server.close()
    assert attempt.exit()["signal"] == signal.SIGINT


@pytest.mark.parametrize("kind", SERVERS)
def test_an_interrupt_ends_a_step_at_once_while_its_command_line_runs(
    attempt: AttemptSite, kind: str
) -> None:
    with checking(SERVERS[kind](os.environ), attempt, WAIT):
        pid = attempt.pid_in("step")
        wait_until(lambda: (found := procfs.read_stat(pid)) and found.state == "S", "it waits")
        os.kill(pid, signal.SIGINT)
    assert attempt.exit()["signal"] == signal.SIGINT


@pytest.mark.parametrize("kind", SERVERS)
def test_a_step_with_a_fault_says_so_and_ends_with_1(attempt: AttemptSite, kind: str) -> None:
    attempt.prepare("no orders")
    server = SERVERS[kind](os.environ)
    with server.forked() as waiting:
        waiting.give(attempt.orders(*own_process("worker.steps", "check")))
    wait_until(attempt.paths.exit.exists, "it has ended")
    server.close()
    assert attempt.exit()["code"] == 1
    assert "DecodeError" in attempt.paths.stderr.read_text()


def test_without_room_to_show_its_attempt_a_step_is_a_new_interpreter(
    attempt: AttemptSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment_block, "PLACEHOLDER", {})
    shown = looked_at(step_server({"PATH": "/bin"}), attempt, SOW_LONG="x" * 4000)
    assert "worker.steps\0check" in attempt.file("cmdline").read_text()
    assert f"SOW_ATTEMPT_ID={attempt.attempt_id}" in str(shown["environ"])


@pytest.mark.parametrize("kind", SERVERS)
def test_an_environment_that_no_program_can_have_is_told_so(
    attempt: AttemptSite, kind: str
) -> None:
    with checking(SERVERS[kind](os.environ), attempt, "true", SOW_LONG="x" * 200_000) as waiting:
        pass
    assert process_facts.life_of(waiting.identity) is Life.DEAD
    assert attempt.exit()["code"] == 126
    assert "Argument list too long" in attempt.paths.stderr.read_text()


def test_a_step_that_becomes_another_program_before_its_supervisor_goes_on(
    attempt: AttemptSite,
) -> None:
    attempt.prepare()
    supervisor = subprocess.Popen(
        [sys.executable, "-P", "-c", LATE_SUPERVISOR, attempt.paths.started],
        env={"SOW_ATTEMPT_ID": "supervisor", **environment_block.PLACEHOLDER},
        stdin=subprocess.PIPE,
    )
    attempt.started.append(supervisor)
    attempt.order(supervisor, attempt.orders(*own_process("worker.steps", "clone")))
    assert supervisor.wait(SECONDS) == 0
    assert attempt.exit()["code"] == 7


def test_what_of_others_variables_has_no_room_is_not_shown_but_there(attempt: AttemptSite) -> None:
    found = looked_at(step_server({"PATH": "/bin"}), attempt, LONG="x" * 20_000)
    assert "worker.steps.server" in attempt.file("cmdline").read_text()
    assert f"SOW_ATTEMPT_ID={attempt.attempt_id}" in str(found["environ"])
    assert "LONG=" not in str(found["environ"])
    assert "LONG=xxx" in str(found["env"])


def test_each_program_has_its_server() -> None:
    servers = fork_servers(os.environ)
    for_steps = servers.server_for(own_process("worker.steps", "clone", "orders", "claude"))
    assert for_steps is not servers.server_for(["/bin/sh"])
    servers.close()


def test_with_the_portable_back_end_no_step_is_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_facts, "packages", lambda: Path("/packages"))
    servers = fork_servers(os.environ)
    for_steps = servers.server_for(own_process("worker.steps", "check"))
    assert for_steps is servers.server_for(["/bin/sh"])
