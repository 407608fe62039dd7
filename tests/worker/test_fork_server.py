"""The fork server of a worker, and the supervisors that it forks."""

import math
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attempt_cases import PROJECT, AttemptSite, is_running, wait_until

from sow.errors import SowError
from sow.processes import cgroup, fork_server, process_facts
from sow.processes.fork_server import ForkServer, Waiting
from sow.processes.life import Life
from sow.processes.procfs import read_stat
from worker import fork_servers
from worker.fork_servers import supervisor_server

pytestmark = pytest.mark.slow  # it starts servers, and supervisors of theirs


@pytest.fixture
def server() -> Iterator[ForkServer]:
    started = supervisor_server(os.environ)
    yield started
    started.close()


def pid_of(server: ForkServer) -> int:
    server.start()
    assert server._process is not None
    return server._process.pid


def has_gone(waiting: Waiting) -> bool:
    return process_facts.life_of(waiting.identity) is Life.DEAD


def stop(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: (facts := read_stat(pid)) and facts.is_stopped, "it is stopped")


def test_one_server_forks_each_supervisor_into_a_session_of_its_own(server: ForkServer) -> None:
    with server.forked() as first, server.forked() as second:
        pids = [first.identity.pid, second.identity.pid]
        facts = [read_stat(pid) for pid in pids]
        assert [found and found.parent for found in facts] == [pid_of(server)] * 2
        wait_until(lambda: [os.getsid(pid) for pid in pids] == pids, "each leads a session")


def test_a_server_runs_from_its_first_use_on(server: ForkServer) -> None:
    assert not server.is_running
    pid = pid_of(server)
    assert server.is_running
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not server.is_running, "it is dead")


def test_a_supervisor_runs_what_it_is_given(server: ForkServer, attempt: AttemptSite) -> None:
    attempt.prepare()
    with server.forked() as waiting:
        waiting.give(attempt.orders("/bin/sh", "-c", "exit 6"))
    wait_until(lambda: has_gone(waiting), "it has ended, and was collected")
    assert attempt.exit()["code"] == 6


def test_a_supervisor_loads_nothing_that_its_server_could_have_loaded(
    server: ForkServer, attempt: AttemptSite
) -> None:
    """os.wait4() imports `resource`: that was a sixth of what a supervisor took."""
    attempt.prepare()
    with server.forked() as waiting:
        before = libraries_of(waiting.identity.pid)
        waiting.give(attempt.orders("/bin/sleep", "600"))
    stat = Path(f"/proc/{waiting.identity.pid}/stat")

    def waits() -> bool:
        state = stat.read_text().rpartition(")")[2].split()[0]
        return attempt.paths.started.exists() and state == "S"

    wait_until(waits, "it waits for its agent")
    assert libraries_of(waiting.identity.pid) == before
    os.kill(waiting.identity.pid, signal.SIGTERM)
    wait_until(lambda: has_gone(waiting), "it has ended")


def libraries_of(pid: int) -> set[str]:
    """Return the shared libraries that a process has loaded."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {line.split()[-1] for line in lines if ".so" in line}


def has_group(waiting: Waiting) -> bool:
    name = f"{waiting.identity.pid}-{waiting.identity.start_ticks}"
    return bool(cgroup.own_home()) and Path(cgroup.folder_of(name)).exists()


def test_a_supervisor_without_orders_leaves_with_its_group(server: ForkServer) -> None:
    with server.forked() as waiting:
        assert process_facts.life_of(waiting.identity) is Life.ALIVE
    wait_until(lambda: has_gone(waiting), "it has left")
    assert not has_group(waiting)


def ahead_of(server: ForkServer) -> Waiting:
    """Return the supervisor that waits ahead."""
    server.start()
    assert server._ahead is not None
    return server._ahead


def test_one_that_waits_ahead_is_given_and_then_another_one(
    server: ForkServer, attempt: AttemptSite
) -> None:
    attempt.prepare()
    ahead = ahead_of(server)
    with server.forked() as waiting:
        assert waiting is ahead
        with server.forked() as another:
            assert another.identity != ahead.identity
        waiting.give(attempt.orders("/bin/sh", "-c", "exit 6"))
    wait_until(lambda: has_gone(waiting), "it has ended")
    assert attempt.exit()["code"] == 6
    assert ahead_of(server).identity != ahead.identity


def test_looking_again_starts_no_second_one(server: ForkServer) -> None:
    assert ahead_of(server) is ahead_of(server)


def test_none_is_forked_ahead_while_the_last_one_begins(
    server: ForkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr(fork_server.time, "monotonic", lambda: clock[0])
    with server.forked():
        pass
    assert server.start_in_peace() == pytest.approx(fork_server.PEACE_SECONDS)
    assert server._ahead is None
    clock[0] += fork_server.PEACE_SECONDS
    assert server.start_in_peace() == math.inf
    assert server._ahead is not None


def give_two(server: ForkServer) -> int:
    """Give two within a moment; return the pipe of the next one, which is asked for then."""
    with server.forked():
        pass
    assert server._asked is None, "one alone is not disturbed"
    with server.forked():
        pass
    assert server._asked is not None
    return server._asked


def only_child_of(server: ForkServer) -> int:
    """Return the pid of the only process that it has forked, once it is the only one."""
    process = server._process
    assert process is not None

    def children() -> list[int]:
        return [pid for pid in process_facts.tree().family([process.pid]) if pid != process.pid]

    (pid,) = wait_until(lambda: len(children()) == 1 and children(), "only that one is there")
    return pid


def test_where_many_begin_the_next_one_is_forked_while_the_last_one_begins(
    server: ForkServer, attempt: AttemptSite
) -> None:
    attempt.prepare()
    pipe = give_two(server)
    with server.forked() as waiting:
        assert waiting.pipe == pipe
        waiting.give(attempt.orders("/bin/sh", "-c", "exit 6"))
        assert server._asked is None
    assert server._asked is not None, "and so on"
    wait_until(lambda: has_gone(waiting), "it has ended")
    assert attempt.exit()["code"] == 6


def test_one_that_was_asked_for_waits_ahead_in_peace(
    server: ForkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = give_two(server)
    monkeypatch.setattr(fork_server, "PEACE_SECONDS", 0.0)
    assert server.start_in_peace() == math.inf
    assert (ahead_of(server).pipe, server._asked) == (pipe, None)


@pytest.mark.parametrize("end", ["killed", "stopped"])
def test_one_that_was_asked_for_and_cannot_go_on_is_not_given(server: ForkServer, end: str) -> None:
    give_two(server)
    asked = only_child_of(server)
    KILLED[end](asked)
    wait_until(lambda: not is_running(asked) or end == "stopped", "it is dead")
    try:
        with server.forked() as waiting:
            assert waiting.identity.pid != asked
            assert process_facts.life_of(waiting.identity) is Life.ALIVE
    finally:
        if end == "stopped":
            os.kill(asked, signal.SIGCONT)
    wait_until(lambda: not is_running(asked), "it has left")


@pytest.mark.parametrize("end", ["killed", "stopped"])
def test_a_server_that_is_gone_before_it_has_answered_is_replaced(
    server: ForkServer, end: str
) -> None:
    with server.forked():
        pass
    assert server._process is not None
    before = server._process.pid
    stop(before)
    server._ask_ahead()
    assert server._asked is not None
    if end == "killed":
        os.kill(before, signal.SIGKILL)
    assert server._take_asked() is None
    assert server._process is None, "its late answer would be taken for another one"
    with server.forked() as waiting:
        assert process_facts.life_of(waiting.identity) is Life.ALIVE
        assert pid_of(server) != before
    assert not is_running(before)


def test_a_server_that_is_closed_takes_the_one_that_was_asked_for_along(
    server: ForkServer,
) -> None:
    give_two(server)
    asked = only_child_of(server)
    server.close()
    assert server._asked is None
    wait_until(lambda: not is_running(asked), "it has left")


@pytest.mark.parametrize("end", ["killed", "stopped"])
def test_one_ahead_that_cannot_go_on_is_not_given(server: ForkServer, end: str) -> None:
    ahead = ahead_of(server)
    KILLED[end](ahead.identity.pid)
    wait_until(lambda: has_gone(ahead) or end == "stopped", "it is dead")
    try:
        with server.forked() as waiting:
            assert waiting.identity != ahead.identity
            assert process_facts.life_of(waiting.identity) is Life.ALIVE
    finally:
        if end == "stopped":
            os.kill(ahead.identity.pid, signal.SIGCONT)
    wait_until(lambda: has_gone(ahead), "it has left")


def test_a_server_that_is_closed_takes_the_one_ahead_along(server: ForkServer) -> None:
    ahead = ahead_of(server)
    wait_until(lambda: has_group(ahead) or not cgroup.own_home(), "it is in its group")
    server.close()
    assert has_gone(ahead)
    assert not has_group(ahead)


WAITS_AHEAD = f"""
import os, signal, sys
sys.path[:0] = [{str(PROJECT)!r}]
from worker.fork_servers import supervisor_server
server = supervisor_server(os.environ)
server.start()
print(server._ahead.identity.pid, flush=True)
signal.pause()
"""


def test_the_one_ahead_leaves_when_its_worker_has_died() -> None:
    argv = [sys.executable, "-c", WAITS_AHEAD]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        ahead = int(worker.stdout.readline())
        assert is_running(ahead)
        worker.kill()
    wait_until(lambda: not is_running(ahead), "it has left")


def test_a_supervisor_that_dies_before_it_has_its_orders_begins_nothing(
    server: ForkServer, attempt: AttemptSite
) -> None:
    attempt.prepare()
    with server.forked() as waiting:
        os.kill(waiting.identity.pid, signal.SIGKILL)
        wait_until(lambda: has_gone(waiting), "it is dead")
        waiting.give(attempt.orders("/usr/bin/touch", str(attempt.file("ran"))))
    assert not attempt.file("ran").exists()


KILLED: dict[str, Callable[[int], None]] = {
    "killed": lambda pid: os.kill(pid, signal.SIGKILL),
    "stopped": stop,
}


@pytest.mark.parametrize("end", KILLED)
def test_a_server_that_is_gone_is_replaced_and_takes_no_supervisor_along(
    server: ForkServer, attempt: AttemptSite, end: str
) -> None:
    attempt.prepare()
    with server.forked() as waiting:
        before = pid_of(server)
        KILLED[end](before)
        with server.forked() as another:
            assert process_facts.life_of(another.identity) is Life.ALIVE
        assert pid_of(server) != before
        assert not is_running(before)
        waiting.give(attempt.orders("/bin/sh", "-c", "exit 6"))
    wait_until(lambda: has_gone(waiting), "it has ended")
    assert attempt.exit()["code"] == 6


def test_a_server_that_was_stopped_is_closed(server: ForkServer) -> None:
    pid = pid_of(server)
    stop(pid)
    server.close()
    assert not is_running(pid)
    server.close()


def test_a_server_leaves_when_its_worker_has_died(server: ForkServer) -> None:
    process = server._process if server.start() is None else None
    assert process is not None
    assert server._requests is not None
    server._requests.close()  # as the system does for whoever dies
    assert process.wait(60) == 0


DIES_ONCE = """
import os, pathlib, socket, sys, time
folder = pathlib.Path(sys.argv[1])
first, second = folder / "first", folder / "second"
is_first = not (folder / "begun").exists()
(folder / "begun").touch()
requests = socket.socket(fileno=0)
_, (orders,), _, _ = socket.recv_fds(requests, 1, 1)
if pid := os.fork():
    os.close(orders)
    if not is_first:
        requests.sendall(b"%d\\n" % pid)
        requests.recv(1)
    sys.exit()
requests.close()
deadline = time.monotonic() + 60
while not is_first and not first.exists() and time.monotonic() < deadline:
    time.sleep(0.01)
data = os.read(orders, 100)
mine = first if is_first else second
(folder / "draft").write_bytes(data)
(folder / "draft").rename(mine)
"""
"""A server that dies between a fork and its answer; the next one's process lets the first one's
read before it."""


def test_what_a_server_forked_that_died_before_its_answer_gets_no_orders(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", DIES_ONCE, str(tmp_path)]
    server = ForkServer(argv, os.environ, makes="supervisor")
    with server.forked() as waiting:
        waiting.give(b"orders")
    wait_until((tmp_path / "second").exists, "both have read")
    server.close()
    assert (tmp_path / "first").read_bytes() == b""
    assert (tmp_path / "second").read_bytes() == b"orders"


STARTS_ONE = f"""
import os, signal, sys
sys.path[:0] = [{str(PROJECT)!r}]
from worker.fork_servers import supervisor_server
server = supervisor_server(os.environ)
with server.forked() as waiting:
    waiting.give(sys.stdin.buffer.read())
print(server._process.pid, flush=True)
signal.pause()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills a process with its parent")
def test_a_stopped_server_goes_with_its_worker_and_takes_no_supervisor_along(
    attempt: AttemptSite,
) -> None:
    attempt.prepare()
    go = attempt.file("go")
    script = 'until [ -e "$1" ]; do sleep 0.05 & wait $!; done; exit 6'
    orders = attempt.orders("/bin/sh", "-c", script, "sh", str(go))
    argv = [sys.executable, "-c", STARTS_ONE]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write(orders)
        worker.stdin.close()
        server = int(worker.stdout.readline())
        stop(server)
        worker.kill()
    wait_until(lambda: not is_running(server), "it is gone")
    go.touch()
    wait_until(attempt.paths.exit.exists, "its supervisor has gone on")
    assert attempt.exit()["code"] == 6


def test_servers_that_die_one_after_the_other_are_given_up() -> None:
    server = ForkServer(["/bin/true"], {}, makes="supervisor")
    with pytest.raises(SowError, match="each one ends before it has begun"), server.forked():
        pass


def test_where_the_system_allows_no_process_more_the_reason_is_told(server: ForkServer) -> None:
    """Root is not limited: there the server's own answer is looked at."""
    server._ask = lambda _reading: -11  # type: ignore[method-assign]
    with pytest.raises(SowError, match=r"cannot start a supervisor .*temporarily") as raised:  # noqa: SIM117
        with server.forked():
            pass
    assert isinstance(raised.value.__cause__, BlockingIOError)


def test_it_sees_nothing_of_the_caller_of_its_worker() -> None:
    server = supervisor_server({"SOW_TASK_ID": "010", "CLAUDECODE": "1", "LANG": "C"})
    with server.forked() as waiting:
        variables = Path(f"/proc/{waiting.identity.pid}/environ").read_bytes().split(b"\0")
    server.close()
    bind_now = b"LD_BIND_NOW=1"  # the server's own; an agent's environment comes with its orders
    assert sorted(variables) == [b"", b"LANG=C", bind_now, b"SOW_ATTEMPT_ID=supervisor"]


def test_a_variable_without_a_name_keeps_no_supervisor_from_its_agent(
    attempt: AttemptSite,
) -> None:
    """execve(2) hands it over; setenv(3) and unsetenv(3) refuse it."""
    attempt.prepare()
    server = supervisor_server({**os.environ, "": "1"})
    with server.forked() as waiting:
        waiting.give(attempt.orders("/bin/sh", "-c", "exit 6"))
    wait_until(lambda: has_gone(waiting), "it has ended")
    server.close()
    assert attempt.exit()["code"] == 6


def test_what_a_supervisor_has_of_its_server_is_what_is_listed(attempt: AttemptSite) -> None:
    """Standard streams that lead nowhere, and limits; no socket, no signal that is ignored."""
    server = supervisor_server(os.environ, open_files=512)
    with server.forked() as waiting:
        pid = waiting.identity.pid
        links = wait_until(lambda: len([*Path(f"/proc/{pid}/fd").iterdir()]) == 3 and links_of(pid))
        status = dict(
            line.split(":\t") for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        )
        assert Path(f"/proc/{pid}/fd/0").is_fifo()
        assert links == {"1": os.devnull, "2": os.devnull}
        sigchld = 1 << (signal.SIGCHLD - 1)
        assert int(status["SigIgn"], 16) & sigchld == 0
        assert int(status["SigBlk"], 16) == 0
        assert status["Threads"] == "1"
        assert resource.prlimit(pid, resource.RLIMIT_NOFILE)[0] == 512
    server.close()


def links_of(pid: int) -> dict[str, str]:
    """Return where a process's output goes."""
    return {name: str(Path(f"/proc/{pid}/fd/{name}").readlink()) for name in ("1", "2")}


def test_a_python_that_is_gone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork_servers.sys, "executable", "/does/not/exist")
    with pytest.raises(SowError, match="cannot start a supervisor with /does/not/exist"):
        supervisor_server({}).start()


def test_orders_larger_than_a_pipe_arrive_whole(server: ForkServer, attempt: AttemptSite) -> None:
    attempt.prepare()
    word = "x" * 100_000
    with server.forked() as waiting:
        waiting.give(attempt.orders("/bin/sh", "-c", 'printf %s "$1$1$1" >long', "sh", word))
    wait_until(lambda: has_gone(waiting), "it has ended")
    assert attempt.file("long").stat().st_size == 3 * len(word)


def test_one_that_was_stopped_holds_nobody_up_and_begins_nothing(
    server: ForkServer, attempt: AttemptSite
) -> None:
    """Its orders are larger than the pipe: cut off, they are none."""
    attempt.prepare()
    with server.forked() as waiting:
        stop(waiting.identity.pid)
        word = "x" * 100_000
        waiting.give(attempt.orders("/usr/bin/touch", str(attempt.file("ran")), word))
    os.kill(waiting.identity.pid, signal.SIGCONT)
    wait_until(lambda: has_gone(waiting), "it has left")
    assert not attempt.file("ran").exists()


def test_the_server_keeps_nothing_of_what_it_has_forked(server: ForkServer) -> None:
    def open_files() -> list[str]:
        folder = Path(f"/proc/{pid_of(server)}/fd")
        return sorted(path.name for path in folder.iterdir())

    with server.forked():
        pass
    wait_until(lambda: open_files() == ["0", "1", "2", "3"], "the first one's pipe is closed")
    for _ in range(3):
        with server.forked():
            pass
    wait_until(lambda: open_files() == ["0", "1", "2", "3"], "all pipes are closed")
