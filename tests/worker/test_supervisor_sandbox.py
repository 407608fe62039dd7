"""The supervisor of an agent in a sandbox: whom its signals reach, and what it says of the end.

As root and as an ordinary user: the second is a process that gives up being root, where the tests
run as root.
"""

import ctypes
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attempt_cases import AttemptSite, is_running, wait_until
from capabilities import skip_or_fail

from sow.paths import Workspace
from sow.processes import procfs, tree_linux
from sow.sandbox.fenced import fenced_argv
from sow.sandbox.machine import Wanted
from sow.sandbox.probe import SandboxUnavailable, usable
from worker.supervisor import supervise
from worker.supervisor.keyrings import FIRST_CALLS
from worker.supervisor.sandboxed import agents_status, keepers_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is Linux's"),
]
JOIN_SESSION_KEYRING, READ_KEY, SESSION_KEYRING = 1, 11, -3
"""Of keyctl(2)."""
NOBODY = 65534
"""A user who owns nothing and may do nothing."""


@pytest.fixture(autouse=True)
def _bubblewrap() -> None:
    try:
        usable("this test")
    except SandboxUnavailable as error:
        skip_or_fail(error.message)


class SandboxedAttempt:
    """An attempt whose agent is a shell script in a sandbox, run by the user `uid`."""

    def __init__(self, site: AttemptSite, uid: int) -> None:
        self.site = site
        self.uid = uid
        self.supervisor = 0
        self.home = site.root / "home"
        self.home.mkdir()
        site.prepare()

    def start(self, script: str) -> None:
        """Fork a supervisor that has its orders, as the fork server does."""
        environ = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.home),
            "SOW_ATTEMPT_ID": self.site.attempt_id,
            "SOW_SANDBOX": "bwrap",
        }
        folder = self.site.root / "clone"
        folder.mkdir()
        wanted = Wanted(folder=str(folder), cwd=str(folder))

        def orders() -> bytes:
            environ["KEY"] = str(key_in_session_keyring())
            argv = fenced_argv("this test", wanted, ["/bin/sh", "-c", script], environ)
            return self.site.orders(*argv, env=environ)

        self._give_to_user()
        self.supervisor = os.fork()
        if self.supervisor == 0:
            _supervise(orders, self.uid)

    def wait(self) -> dict[str, object]:
        """Wait for the supervisor's end; return what it says of the agent's."""
        _, status = os.waitpid(self.supervisor, 0)
        self.supervisor = 0
        assert status == 0, self.site.log()
        return self.site.exit()

    def pids(self) -> dict[str, int]:
        """Return the pids of both processes of bubblewrap, and of the agent, once there are."""

        def found() -> dict[str, int]:
            outer = self.site.agent_pid()
            family = tree_linux.family([outer])
            keepers = keepers_of(outer, family)
            inner = max(keepers.pids - {outer}) if keepers is not None else 0
            agents = [pid for pid, process in family.items() if process.parent == inner]
            return {"outer": outer, "inner": inner, "agent": agents[0]} if agents else {}

        pids: dict[str, int] = wait_until(found, "the agent runs in its sandbox")
        return pids

    def file(self, name: str) -> Path:
        return self.site.root / "clone" / name

    def close(self) -> None:
        if self.supervisor:
            os.kill(self.supervisor, signal.SIGKILL)
            os.waitpid(self.supervisor, 0)

    def _give_to_user(self) -> None:
        for path in (self.site.root, *self.site.root.rglob("*")):
            os.chown(path, self.uid, self.uid)
        temporary = Path(tempfile.gettempdir()).resolve()
        for path in self.site.root.parents:
            if path.is_relative_to(temporary) and path.stat().st_uid == os.geteuid():
                path.chmod(path.stat().st_mode | 0o011)


def key_in_session_keyring() -> int:
    """Give this process a session keyring, as a login does, with a key in it; return its number.

    0 where the kernel has none, or allows none. Both end with the last process that has them.
    """
    libc = ctypes.CDLL(None)
    add_key = FIRST_CALLS[os.uname().machine][0][1]
    libc.syscall(add_key + 2, JOIN_SESSION_KEYRING, None)
    session = ctypes.c_long(SESSION_KEYRING)
    return max(0, libc.syscall(add_key, b"user", b"sow-test", b"secret", 6, session))


def _supervise(orders: Callable[[], bytes], uid: int) -> None:
    """Be a supervisor that has its orders, and end with it."""
    code = 1
    try:
        import ctypes  # noqa: F401 - a user may not read where it lies

        os.setsid()
        if uid != os.geteuid():
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        source, target = os.pipe()
        os.write(target, orders())
        os.close(target)
        os.dup2(source, 0)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        code = supervise.main(tree_linux)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


@pytest.fixture(params=["root", "user"])
def attempt(request: pytest.FixtureRequest, workspace: Workspace) -> Iterator[SandboxedAttempt]:
    """An attempt as root, and as an ordinary user; who is no root can only be that."""
    is_root = os.geteuid() == 0
    if request.param == "root" and not is_root:
        skip_or_fail("only root can run it as root")
    site = AttemptSite(workspace)
    made = SandboxedAttempt(site, NOBODY if request.param == "user" and is_root else os.geteuid())
    yield made
    made.close()
    site.close()


TRAP = "trap 'echo interrupted; exit 9' INT; touch up; while :; do sleep 0.02; done"


@pytest.mark.parametrize("code", [0, 1, 3, 143])
def test_the_agents_exit_code_is_told(attempt: SandboxedAttempt, code: int) -> None:
    attempt.start(f"exit {code}")
    record = attempt.wait()
    assert (record["code"], record["signal"], record["by_request"]) == (code, None, False)


def test_a_deadly_signal_is_told_as_one(attempt: SandboxedAttempt) -> None:
    """bubblewrap itself ends with 137 then."""
    attempt.start("kill -KILL $$")
    record = attempt.wait()
    assert (record["code"], record["signal"]) == (None, signal.SIGKILL)


def test_a_code_is_a_signal_only_where_no_program_ends_so() -> None:
    assert [agents_status(code << 8) for code in (0, 1, 128, 130, 143)] == [
        code << 8 for code in (0, 1, 128, 130, 143)
    ]
    assert agents_status((128 + signal.SIGSEGV) << 8) == signal.SIGSEGV
    assert agents_status(signal.SIGTERM) == signal.SIGTERM
    assert agents_status(None) is None


def test_an_interrupt_reaches_the_agent_and_not_bubblewrap(attempt: SandboxedAttempt) -> None:
    attempt.start(TRAP)
    wait_until(attempt.file("up").exists, "the agent is up")
    os.kill(attempt.supervisor, signal.SIGTERM)
    record = attempt.wait()
    assert (record["code"], record["signal"], record["by_request"]) == (9, None, True)
    assert attempt.site.paths.output.read_text() == "interrupted\n"


def test_an_agent_that_ignores_the_interrupt_is_terminated(
    attempt: SandboxedAttempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    graces = ((signal.SIGINT, 0.2), (signal.SIGTERM, 60.0), (signal.SIGKILL, 5.0))
    monkeypatch.setattr(supervise, "GRACES", graces)
    attempt.start(TRAP.replace("exit 9", ":") + "; exit 1")
    wait_until(attempt.file("up").exists, "the agent is up")
    os.kill(attempt.supervisor, signal.SIGTERM)
    record = attempt.wait()
    assert (record["code"], record["by_request"]) == (128 + signal.SIGTERM, True)


def test_an_agent_that_ignores_all_is_killed_with_its_tree(
    attempt: SandboxedAttempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    graces = ((signal.SIGINT, 0.2), (signal.SIGTERM, 0.2), (signal.SIGKILL, 5.0))
    monkeypatch.setattr(supervise, "GRACES", graces)
    script = "trap '' INT TERM; setsid sleep 600 & touch up; while :; do sleep 0.02; done"
    attempt.start(script)
    wait_until(attempt.file("up").exists, "the agent is up")
    family = tree_linux.family([attempt.pids()["outer"]])
    os.kill(attempt.supervisor, signal.SIGTERM)
    record = attempt.wait()
    assert record["signal"] == signal.SIGKILL
    assert [pid for pid in family if is_running(pid)] == []


def test_what_it_leaves_in_the_background_goes_with_it(attempt: SandboxedAttempt) -> None:
    attempt.start("setsid env -i sleep 600 & sleep 0.05; exit 4")
    assert attempt.wait()["code"] == 4
    wait_until(lambda: attempt.site.carriers() == [], "nothing carries its id")


@pytest.mark.parametrize("who", ["supervisor", "outer", "inner"])
def test_nothing_survives_the_death_of_who_is_around_it(
    attempt: SandboxedAttempt, who: str
) -> None:
    attempt.start("setsid sleep 600 & touch up; while :; do sleep 0.02; done")
    wait_until(attempt.file("up").exists, "the agent is up")
    pids = {**attempt.pids(), "supervisor": attempt.supervisor}
    family = tree_linux.family([pids["outer"]])
    os.kill(pids[who], signal.SIGKILL)
    if who == "supervisor":
        os.waitpid(attempt.supervisor, 0)
        attempt.supervisor = 0
    else:
        assert attempt.wait()["signal"] == signal.SIGKILL
    wait_until(lambda: [pid for pid in family if is_running(pid)] == [], "all have gone")


READS_KEY = f"""
test $KEY != 0 || exit 9
/usr/bin/python3 -c "
import ctypes, os
found = ctypes.create_string_buffer(9)
keyctl = {{keyctl}}
exit(ctypes.CDLL(None).syscall(keyctl, {READ_KEY}, int(os.environ['KEY']), found, 9) != 6)
"
"""


def test_no_key_of_the_users_session_can_be_read(attempt: SandboxedAttempt) -> None:
    attempt.start(READS_KEY.format(keyctl=FIRST_CALLS[os.uname().machine][0][1] + 2))
    code = attempt.wait()["code"]
    if code == 9:
        pytest.skip("this kernel has no keyrings, or allows none")
    assert code == 1


def test_its_processes_are_found_by_the_attempts_id(attempt: SandboxedAttempt) -> None:
    """What carries an id lives; the first process inside lives as long as anything does there."""
    attempt.start("env -i sleep 600 & touch up; exec sleep 600")
    wait_until(attempt.file("up").exists, "the agent is up")
    pids = attempt.pids()
    assert set(pids.values()) <= set(attempt.site.carriers())

    def hides() -> list[int]:
        carriers = attempt.site.carriers()
        return [pid for pid in tree_linux.family([pids["inner"]]) if pid not in carriers]

    wait_until(lambda: len(hides()) == 1, "the process that gave up the id is alone hidden")
    hidden = hides()
    assert procfs.read_stat(hidden[0]) is not None
    lock = str(attempt.site.paths.alive_lock)
    assert pids["agent"] in tree_linux.lock_holders(lock)


def test_cpu_time_and_memory_are_those_of_the_agent(attempt: SandboxedAttempt) -> None:
    attempt.start("i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done")
    record = attempt.wait()
    assert float(str(record["cpu_seconds"])) > 0.02
    assert int(str(record["max_rss_kb"])) > 500
