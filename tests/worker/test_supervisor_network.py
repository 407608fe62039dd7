"""The supervisor of an agent with `network: allow`: its proxy, its forwarder, and their end."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from attempt_cases import SECONDS, WITHOUT_GROUP, AttemptSite, is_running, wait_until
from capabilities import skip_or_fail
from network_cases import proxy_status, put_ask, service

from sow.attempts.sandbox import in_sandbox
from sow.jobs.doorbell import is_held
from sow.processes import cgroup, procfs, tree_linux
from sow.sandbox import door
from sow.sandbox.by_proxy import proxy_argv
from sow.sandbox.machine import Wanted
from sow.sandbox.probe import SandboxUnavailable, usable
from sow.sandbox.proxy_probe import usable_proxy
from worker.supervisor import supervise
from worker.supervisor.gate import pack_proxy
from worker.supervisor.limits import pack_limits

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is Linux's"),
]
HOSTS = ("127.0.0.1", "*.allowed.example")
SECRET = "a-secret-0815"
NOBODY = 65534
"""A user who owns nothing and may do nothing."""


@pytest.fixture(autouse=True)
def _programs() -> None:
    try:
        usable("this test")
        usable_proxy("this test")
    except SandboxUnavailable as error:
        skip_or_fail(error.message)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of a service outside."""
    with service() as number:
        yield number


def clone_of(attempt: AttemptSite) -> Path:
    return attempt.root / "clone"


def real_proxy(attempt: AttemptSite) -> Sequence[str]:
    return proxy_argv("mine", attempt.workspace, attempt.paths.proxy, dict(os.environ))


def start(
    attempt: AttemptSite,
    script: str,
    proxy: Sequence[str] = (),
    before: str = "",
    **more: Any,
) -> "subprocess.Popen[bytes]":
    """Start an agent that is a shell script in a sandbox, beside its proxy.

    `before` are lines of its supervisor's program.
    """
    prepare(attempt)
    orders = packed(attempt, script, proxy, **more)
    process = attempt.wait_for_orders(before=before)
    attempt.order(process, orders)
    return process


def prepare(attempt: AttemptSite) -> None:
    folder = clone_of(attempt)
    folder.mkdir()
    put_ask(folder)
    attempt.prepare()


def packed(
    attempt: AttemptSite,
    script: str,
    proxy: Sequence[str] = (),
    secrets: dict[str, str] | None = None,
    limits: Sequence[str] = (),
) -> bytes:
    """Return the orders of such an agent's supervisor."""
    folder = clone_of(attempt)
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(attempt.root),
        "SOW_ATTEMPT_ID": attempt.attempt_id,
    }
    wanted = Wanted(folder=str(folder), cwd=str(folder), has_network=False, hosts=HOSTS)
    script = f"ask='{sys.executable} -S {folder}/ask.py'\n{script}"
    words, inside = in_sandbox("mine", wanted, ["/bin/sh", "-c", script], environ)
    fields = pack_proxy(HOSTS, proxy or real_proxy(attempt))
    return attempt.orders(*words, env=inside, secrets=secrets, proxy=fields, limits=limits)


def run(attempt: AttemptSite, script: str, **options: Any) -> list[str]:
    """Run such an agent to its end; return the lines that it has printed."""
    process = start(attempt, script, **options)
    assert process.wait(SECONDS) == 0, attempt.log()
    errors = attempt.paths.stderr.read_text() if attempt.paths.stderr.exists() else ""
    assert attempt.exit()["code"] == 0, (attempt.log(), errors)
    return attempt.paths.output.read_text().splitlines()


ASKING = "id -u; $ask get=http://127.0.0.1:{port}/ get=http://other.example/"


def test_an_ordinary_user_has_it_too(
    attempt: AttemptSite, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other tests run as whoever runs them; where that is root, this one gives it up."""
    if os.geteuid() != 0:
        assert run(attempt, ASKING.format(port=port))[1:] == ["get 200", "get 403"]
        return
    python = next((each for each in (sys.executable, "/usr/bin/python3") if for_all(each)), "")
    if not python or not for_all(door.__file__):
        pytest.skip("nobody but root can read this Python, or this repository")
    monkeypatch.setattr(sys, "executable", python)

    def orders() -> bytes:
        return packed(attempt, ASKING.format(port=port))

    prepare(attempt)
    temporary = Path(tempfile.gettempdir()).resolve()
    for path in (attempt.root, *attempt.root.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    for path in attempt.root.parents:
        if path.is_relative_to(temporary) and path.stat().st_uid == 0:
            path.chmod(path.stat().st_mode | 0o011)
    supervisor = os.fork()
    if supervisor == 0:
        _supervise_as(NOBODY, orders)
    os.waitpid(supervisor, 0)
    assert attempt.exit()["code"] == 0, (attempt.log(), attempt.paths.stderr.read_text())
    lines = attempt.paths.output.read_text().splitlines()
    assert lines == [str(NOBODY), "get 200", "get 403"]
    assert refused(attempt) == ["other.example"]
    all_have_gone(attempt, ())


def for_all(path: str) -> bool:
    """Whether every user can read a file."""
    real = Path(path).resolve()
    links = (Path(path).parent, *Path(path).parent.parents)
    folders = (*links, *real.parents)
    return real.stat().st_mode & 0o004 != 0 and all(each.stat().st_mode & 1 for each in folders)


def _supervise_as(uid: int, orders: Callable[[], bytes]) -> None:
    """Be a supervisor of another user, who makes its orders, and end with it."""
    code = 1
    try:
        import ctypes  # noqa: F401 - a user may not read where it lies

        os.setsid()
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


def refused(attempt: AttemptSite) -> list[str]:
    if not attempt.paths.refused.exists():
        return []
    lines = [line.split(" ") for line in attempt.paths.refused.read_text().splitlines()]
    assert {words[0] for words in lines} == {attempt.attempt_id}
    return [words[1] for words in lines]


def beside(attempt: AttemptSite, supervisor: int) -> dict[str, int]:
    """Return the pids of the agent's bubblewrap, of its forwarder, and of the proxy."""
    agent = attempt.agent_pid()

    def found() -> dict[str, int]:
        children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
        pids = {"agent": agent}
        for pid in map(int, children):
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
            if pid != agent:
                pids["proxy" if b"tinyproxy" in line else "forwarder"] = pid
        return pids if len(pids) == 3 else {}

    pids: dict[str, int] = wait_until(found, "all three run")
    return pids


def all_have_gone(attempt: AttemptSite, pids: Sequence[int]) -> None:
    wait_until(lambda: not any(map(is_running, pids)), "they have gone")
    wait_until(lambda: attempt.carriers() == [], "nothing carries its id")
    wait_until(lambda: not is_held(attempt.paths.alive_lock), "nobody holds its lock")


def test_what_is_allowed_is_reached_and_nothing_else(attempt: AttemptSite, port: int) -> None:
    asked = (
        f"get=http://127.0.0.1:{port}/ connect=127.0.0.1:{port} direct=127.0.0.1:{port}"
        f" get=http://other.example:{port}/ connect=other.example:443 connect=allowed.example:443"
        f" get=http://127.0.0.1.other.example/ direct=192.0.2.1:80"
    )
    lines = run(attempt, f"$ask {asked}")
    assert lines == [
        *("get 200", "connect 200", "direct no"),
        *("get 403", "connect 403", "connect 403", "get 403", "direct no"),
    ]
    assert refused(attempt) == ["other.example", "allowed.example", "127.0.0.1.other.example"]
    assert attempt.log() == ""
    all_have_gone(attempt, ())


def test_nothing_of_ours_is_inside_but_the_variables(attempt: AttemptSite) -> None:
    script = (
        "env; echo; readlink /proc/self/fd/*; echo; for p in /proc/[0-9]*; do cat $p/comm; done"
    )
    lines = run(attempt, script)
    variables, _, rest = ("\n".join(lines)).partition("\n\n")
    values = dict(line.split("=", 1) for line in variables.splitlines())
    assert values["https_proxy"] == values["HTTP_PROXY"]
    assert values["NO_PROXY"] == "localhost,::1"
    assert not {"SOW_DOOR", "LC_CTYPE"} & set(values)
    files, _, programs = rest.partition("\n\n")
    assert "socket:" not in files
    assert set(programs.splitlines()) <= {"bwrap", "sh", "cat"}


def test_python_leaves_the_agent_no_signal_ignored(attempt: AttemptSite) -> None:
    lines = run(attempt, "grep SigIgn /proc/self/status")
    ignored = int(lines[0].split()[1], 16)
    pythons = (signal.SIGPIPE, signal.SIGXFSZ)
    assert [number for number in pythons if ignored & 1 << (number - 1)] == []


def test_much_and_many_at_once_pass(attempt: AttemptSite, port: int) -> None:
    url = f"http://127.0.0.1:{port}/"
    asks = f"$ask post={url} get={url} &\n"
    lines = run(attempt, asks * 12 + "wait")
    assert sorted(lines) == ["get 200"] * 12 + ["post 6000000"] * 12


@pytest.mark.parametrize("who", ["supervisor", "supervisor-", "agent", "forwarder", "proxy"])
def test_nothing_is_left_whoever_is_killed(attempt: AttemptSite, port: int, who: str) -> None:
    go = clone_of(attempt) / "go"
    script = (
        "setsid sleep 987 & touch up; while [ ! -e go ]; do sleep 0.02; done;"
        f" $ask get=http://127.0.0.1:{port}/"
    )
    process = start(attempt, script)
    wait_until((clone_of(attempt) / "up").exists, "the agent is up")
    pids = {**beside(attempt, process.pid), "supervisor": process.pid}
    if who.endswith("-"):  # a forwarder that is stopped sees nothing
        os.kill(pids["forwarder"], signal.SIGSTOP)
    who = who.removesuffix("-")
    os.kill(pids[who], signal.SIGKILL)
    if who == "proxy":
        wait_until(lambda: refused(attempt) == ["-"], "its end is noted")
    if who == "forwarder":
        wait_until(lambda: not is_running(pids["forwarder"]), "it has gone")
    go.touch()
    process.wait(SECONDS)
    del pids["supervisor"]
    all_have_gone(attempt, [*pids.values()])
    if who == "supervisor":
        return
    record = attempt.exit()
    assert (record["signal"] == signal.SIGKILL) == (who == "agent")
    if who != "agent":  # without its way it goes on, and reaches nobody
        assert attempt.paths.output.read_text() == "get no\n"


def test_an_end_that_is_asked_for_ends_all(attempt: AttemptSite) -> None:
    process = start(attempt, "trap 'exit 9' INT; touch up; while :; do sleep 0.02; done")
    wait_until((clone_of(attempt) / "up").exists, "the agent is up")
    pids = beside(attempt, process.pid)
    process.terminate()
    assert process.wait(SECONDS) == 0
    assert (attempt.exit()["code"], attempt.exit()["by_request"]) == (9, True)
    all_have_gone(attempt, [*pids.values()])
    assert refused(attempt) == []


def line_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has ended
        return b""


def test_others_cannot_use_its_proxy(attempt: AttemptSite) -> None:
    process = start(attempt, "touch up; while [ ! -e go ]; do sleep 0.02; done")
    wait_until((clone_of(attempt) / "up").exists, "the agent is up")
    folder = attempt.paths.proxy
    settings = dict(
        line.split(" ", 1) for line in (folder / "tinyproxy.conf").read_text().splitlines()
    )
    number = int(settings["Port"])
    assert proxy_status(number, None) == 407
    assert proxy_status(number, "guess") == 401
    assert {path.stat().st_mode & 0o077 for path in (folder, *folder.iterdir())} == {0}
    password = settings["BasicAuth"].split()[1]
    assert not any(password.encode() in line_of(pid) for pid in procfs.all_pids())
    (clone_of(attempt) / "go").touch()
    assert process.wait(SECONDS) == 0


def filters_of(pid: int | str) -> int:
    """Return how many filters of system calls a process has."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Seccomp_filters:"))


def test_the_proxy_sees_its_own_folder_alone(attempt: AttemptSite) -> None:
    """It reads what an agent sends, so it has a sandbox too."""
    words = [*real_proxy(attempt)]
    assert words[words.index(str(attempt.root)) - 1] == "--tmpfs"  # wherever the workspace lies
    process = start(attempt, "touch up; while [ ! -e go ]; do sleep 0.02; done")
    wait_until((clone_of(attempt) / "up").exists, "the agent is up")
    program = usable_proxy("this test").encode() + b"\0"
    (pid,) = (pid for pid in attempt.carriers() if line_of(pid).startswith(program))
    assert filters_of(pid) == filters_of("self") + 1, "the kernel's keyrings are closed to it"
    root = f"/proc/{pid}/root"
    folder = attempt.paths.folder
    assert [*attempt.root.iterdir()]
    for seen in (attempt.root, folder.parent, folder):
        (name,) = os.listdir(f"{root}{seen}")  # noqa: PTH208
        assert f"{attempt.paths.proxy}/".startswith(f"{seen}/{name}/")
    assert os.listdir(f"{root}/home") == os.listdir(f"{root}/run") == []  # noqa: PTH208
    (clone_of(attempt) / "go").touch()
    assert process.wait(SECONDS) == 0


def test_without_a_proxy_no_agent_begins(attempt: AttemptSite) -> None:
    process = start(attempt, "touch began", ["/bin/sh", "-c", "echo 'it is broken' >&2; exit 71"])
    assert process.wait(SECONDS) == 0
    assert attempt.exit()["code"] == 126
    assert not (clone_of(attempt) / "began").exists()
    result = json.loads(attempt.paths.result.read_text())
    assert (result["attempt"], result["cause"]) == (attempt.attempt_id, "sandbox_failed")
    first, remedy = result["reason"].splitlines()
    assert first == "the proxy of network: allow cannot be started: it is broken"
    assert "apt-get install --reinstall tinyproxy-bin" in remedy
    all_have_gone(attempt, ())


TAKEN = "tinyproxy: Could not create listening sockets."


def test_another_port_is_tried_where_one_is_taken(attempt: AttemptSite) -> None:
    mark = attempt.root / "mark"
    line = f'test -e {mark} && exec "$@"; touch {mark}; echo {TAKEN}; exit 71'
    process = start(attempt, "echo began", ["/bin/sh", "-c", line, "sh", *real_proxy(attempt)])
    assert process.wait(SECONDS) == 0
    assert attempt.paths.output.read_text() == "began\n"
    assert attempt.log() == f"the proxy has ended: {TAKEN}\n"


def test_an_end_is_heeded_while_the_proxy_starts(attempt: AttemptSite) -> None:
    line = f"echo $$ >{attempt.root}/.p; mv {attempt.root}/.p {attempt.root}/pid; sleep 987 & wait"
    process = start(attempt, "touch began", ["/bin/sh", "-c", line])
    pid = attempt.pid_in("pid")
    process.terminate()
    assert process.wait(SECONDS) == 0
    assert attempt.exit()["by_request"] is True
    assert not (clone_of(attempt) / "began").exists()
    all_have_gone(attempt, [pid])


def test_an_agent_that_cannot_be_run_leaves_no_proxy(attempt: AttemptSite) -> None:
    attempt.prepare()
    process = attempt.wait_for_orders()
    fields = pack_proxy(HOSTS, real_proxy(attempt))
    attempt.order(process, attempt.orders("/does/not/exist", proxy=fields))
    assert process.wait(SECONDS) == 0
    assert attempt.exit()["code"] == 127
    all_have_gone(attempt, ())


def test_an_agent_has_secrets_and_a_proxy(attempt: AttemptSite, port: int) -> None:
    script = f'echo "it is $API_KEY"; $ask get=http://127.0.0.1:{port}/ get=http://other.example/'
    lines = run(attempt, script, secrets={"API_KEY": SECRET})
    assert lines == ["it is [API_KEY]", "get 200", "get 403"]
    assert refused(attempt) == ["other.example"]
    all_have_gone(attempt, ())


MOST = 6
"""The agent's sandbox has four processes while it asks. Its proxy has four beside it."""


@pytest.fixture(params=["group", "tree"])
def way(request: pytest.FixtureRequest) -> str:
    """How the agent's processes are counted: lines of its supervisor's program."""
    if request.param == "group" and not os.access(cgroup.own_home() or "/none", os.W_OK):
        skip_or_fail("no control group can be made here")
    return WITHOUT_GROUP if request.param == "tree" else ""


def test_its_proxy_counts_for_no_limit(attempt: AttemptSite, port: int, way: str) -> None:
    limits = pack_limits({"processes": MOST}, [])
    script = f"sleep 1.2; $ask get=http://127.0.0.1:{port}/"
    assert run(attempt, script, limits=limits, before=way) == ["get 200"]
    assert "limit" not in attempt.exit()
    all_have_gone(attempt, ())


SHORT_ONCE = f"""{WITHOUT_GROUP}
family = tree_linux.family
def short(roots):
    tree_linux.family = family
    raise OSError(24, "Too many open files")
tree_linux.family = short
"""
"""The first look at processes, before the agent begins, sees none of them."""


def test_its_proxy_counts_for_no_limit_where_the_first_look_has_failed(
    attempt: AttemptSite,
) -> None:
    limits = pack_limits({"processes": MOST}, [])
    assert run(attempt, "sleep 1.2; echo done", limits=limits, before=SHORT_ONCE) == ["done"]
    assert "limit" not in attempt.exit()


def test_a_limit_that_is_reached_ends_its_proxy_too(
    attempt: AttemptSite, port: int, way: str
) -> None:
    limits = pack_limits({"processes": MOST}, [])
    more = "for i in 1 2 3 4 5 6; do (setsid sleep 987 &); done"
    script = f"$ask get=http://127.0.0.1:{port}/; {more}; while :; do sleep 0.05; done"
    process = start(attempt, script, limits=limits, before=way)
    assert process.wait(SECONDS) == 0
    assert attempt.exit()["limit"] == "processes"
    assert attempt.paths.output.read_text() == "get 200\n"
    assert refused(attempt) == []
    all_have_gone(attempt, ())
