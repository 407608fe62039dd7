"""A hostile agent inside of a sandbox and outside: what it manages is what the table says."""

import ctypes
import os
import pty
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from capabilities import skip_or_fail
from journeys.gitsite import commit, git, make_repository
from journeys.hostile_actions import ACTIONS, script_of
from journeys.hostile_page import committed, rendered
from journeys.site import SOW, Site, wait_until

from sow.paths import Workspace
from sow.processes import procfs
from sow.sandbox.fenced import fenced_argv
from sow.sandbox.probe import SandboxUnavailable, usable
from sow.sandbox.visible_folders import visible_in_clone
from sow.state.task_log import read_entries


@pytest.fixture(autouse=True)
def _bubblewrap() -> None:
    try:
        usable("this test")
    except SandboxUnavailable as error:
        skip_or_fail(error.message)


NOBODY = 65534
"""An ordinary user, who owns nothing but what a test gives him."""


@contextmanager
def surroundings(site: Site, uid: int | None = None) -> Iterator[dict[str, str]]:
    """Make what a hostile agent is after: keys, sockets, another process, a service.

    They are the user's `uid`, where one is named; the files are given to him by `give`.
    """
    home, around = site.base / "home", site.base / "machine"
    around.mkdir()
    (home / ".ssh").mkdir()
    (home / ".ssh/id_test").write_text("key\n")
    (home / ".profile").write_text("# mine\n")
    (home / ".gitconfig").write_text("[user]\nname = A\nemail = a@example.invalid\n")
    (around / "temporary").write_text("mine\n")
    with ExitStack() as opened:
        agent = opened.enter_context(socket.socket(socket.AF_UNIX))
        here = os.open(around, os.O_RDONLY)
        agent.bind(f"/proc/self/fd/{here}/agent.sock")  # the path may be longer than a socket's
        os.close(here)
        agent.listen(9)
        service = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
        abstract = opened.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(f"\0sow-test-{os.urandom(8).hex()}")
        abstract.listen(9)
        keyboard, screen = pty.openpty()
        opened.callback(os.close, keyboard)
        opened.callback(os.close, screen)
        if uid is not None:
            os.fchown(screen, uid, uid)
        system = ctypes.CDLL(None)
        shared = system.shmget(0, 4096, 0o600)
        opened.callback(system.shmctl, shared, 0, None)
        victim = subprocess.Popen(
            [
                shutil.which("python3", path="/usr/bin:/bin") or sys.executable,
                "-c",
                "import ctypes, signal; signal.signal(10, lambda *_: 0);"
                " ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_long(-1));"  # whoever may trace it
                " print(flush=True)\nwhile True: signal.pause()",
            ],
            env={"SECRET": "x"},
            stdout=subprocess.PIPE,
            **({} if uid is None else {"user": uid, "group": uid, "extra_groups": []}),
        )
        opened.callback(victim.wait)
        opened.callback(victim.kill)
        assert victim.stdout is not None
        victim.stdout.readline()
        yield {
            "H": str(home),
            "R": str(site.root),
            "B": str(around),
            "VICTIM": str(victim.pid),
            "PORT": str(service.getsockname()[1]),
            "ABSTRACT": abstract.getsockname()[1:].decode(),
            "SCREEN": os.ttyname(screen),
            "SHM": str(shared),
            "SSH_AUTH_SOCK": str(around / "agent.sock"),
        }
        victim.stdout.close()


def begin(site: Site, **executor: Any) -> None:
    """Make a repository with two tasks in clones, whose agents run `author.sh`."""
    make_repository(site)
    site.project("010", "020")
    program = site.base / "author.sh"
    program.write_text(script_of(ACTIONS))
    program.chmod(0o755)
    configure(site, **executor)
    (site.root / ".sow/config.yaml").write_text(yaml.safe_dump({"clones": {"use": "always"}}))
    commit(site, "a project")


def configure(site: Site, *, command: list[str] | None = None, **executor: Any) -> None:
    settings = {"command": command or [str(site.base / "author.sh")]}
    author = {"type": "command", "settings": settings, "retries": 0, **executor}
    bindings = {"implementer": "author"}
    site.configure({"agents": {"executors": {"author": author}, "bindings": bindings}})


def output(site: Site, job: int, attempt: int = 1) -> str:
    return (site.root / f".sow/run/jobs/{job}/{attempt}/output.jsonl").read_text()


def managed(site: Site, job: int) -> dict[str, bool]:
    lines = [line.split() for line in output(site, job).splitlines()]
    return {words[1]: words[2] == "0" for words in lines if words[:1] == ["action"]}


def left(site: Site) -> list[str]:
    """Return what runs of any attempt of the site."""
    root = f"SOW_ROOT={site.root}".encode()
    lines = (
        Path(f"/proc/{pid}/cmdline")
        for pid in procfs.all_pids()
        if root in procfs.variables(pid).split(b"\0")
    )
    return [line.read_text() for line in lines if "sleep\x00600" in line.read_text()]


@pytest.mark.parametrize("sandbox", ["none", "bwrap"])
def test_a_hostile_agent_manages_what_the_table_says(site: Site, sandbox: str) -> None:
    with surroundings(site) as variables:
        begin(site, sandbox=sandbox, env=variables)
        site.sow("agent", "spawn", "implementer", "020", expect=None)
        site.sow("agent", "spawn", "implementer", "010", expect=None)
        wait_until(lambda: left(site) == [], "nothing is left behind")
    inside = sandbox == "bwrap"
    expected = {action.name: action.inside if inside else action.outside for action in ACTIONS}
    assert managed(site, 2) == expected, (site.worker_logs(), output(site, 2))


def give(site: Site, uid: int) -> None:
    """Give all files of a site to a user, who can enter its folder."""
    for path in (site.base, *site.base.rglob("*")):
        os.chown(path, uid, uid, follow_symlinks=False)
    temporary = Path(tempfile.gettempdir()).resolve()
    for path in site.base.parents:
        if path.is_relative_to(temporary):
            path.chmod(path.stat().st_mode | 0o011)


def be_hostile(site: Site, clone: Path, environ: dict[str, str]) -> None:
    """Become a hostile agent of an ordinary user's, in a sandbox; never returns."""
    try:
        printed = os.open(site.base / "output", os.O_WRONLY)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        os.environ["HOME"] = environ["HOME"]
        wanted = visible_in_clone(Workspace(site.root), clone, clone, borrows=False)
        script = script_of(ACTIONS).partition("\n")[2]
        argv = fenced_argv("this test", wanted, ["/bin/sh", "-c", script], environ)
        os.closerange(3, 4096)
        os.execve(argv[0], argv, environ)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(1)


def test_an_ordinary_users_hostile_agent_manages_no_more(site: Site) -> None:
    """Where the tests run as root, all others of them are root's agents."""
    if os.geteuid() != 0:
        pytest.skip("the other tests are an ordinary user's")
    with surroundings(site, NOBODY) as variables:
        begin(site)
        clones = [site.base / "clones" / task for task in ("010", "020")]
        for clone in clones:
            git(site, "clone", "-q", str(site.root), str(clone))
        (site.base / "output").touch()
        give(site, NOBODY)
        environ = {**site.environment(variables), "SOW_TASK_ID": "010", "SOW_JOB_ID": "1"}
        pid = os.fork()
        if pid == 0:
            be_hostile(site, clones[0], environ)
        os.waitpid(pid, 0)
    lines = [line.split() for line in (site.base / "output").read_text().splitlines()]
    done = {words[1]: words[2] == "0" for words in lines if words[:1] == ["action"]}
    # It has no `sow`: root's Python is none of an ordinary user's.
    mine = [action for action in ACTIONS if not action.script.startswith("sow ")]
    assert {action.name: done.get(action.name) for action in mine} == {
        action.name: action.inside for action in mine
    }, lines


def test_the_page_is_of_these_actions() -> None:
    assert committed() == rendered(), "run python tests/journeys/hostile_page.py"


LOOPBACK = """#!/bin/sh
cat >/dev/null
python3 -c "import socket; socket.create_connection(('127.0.0.1', $PORT), 5)" 2>/dev/null
echo "action network $?"
python3 -c "
import socket
here = socket.create_server(('127.0.0.1', 0))
socket.create_connection(here.getsockname(), 5)
"
echo "action own-loopback $?"
python3 -c "import socket; socket.socket(socket.AF_UNIX).connect('\\0$ABSTRACT')" 2>/dev/null
echo "action abstract $?"
"""


def test_a_loopback_of_its_own_reaches_nobody(site: Site) -> None:
    with surroundings(site) as variables:
        begin(site)
        (site.base / "author.sh").write_text(LOOPBACK)
        configure(site, sandbox="bwrap", network="loopback", env=variables)
        site.sow("agent", "spawn", "implementer", "010", expect=None)
    assert managed(site, 1) == {"network": False, "own-loopback": True, "abstract": False}


IN_ROOT = """#!/bin/sh
cat >/dev/null
( echo x >>code.txt ); echo "action write $?"
( echo x >.git/hooks/pre-commit ) 2>/dev/null; echo "action hook $?"
( git config alias.x '!true' ) 2>/dev/null; echo "action config $?"
( echo x >>.sow/project/state.yaml ) 2>/dev/null; echo "action state $?"
cat .sow/run/jobs/*/*/prompt.md >/dev/null 2>&1; echo "action prompts $?"
( rm -rf .git || mv .git .away || mv .sow .away ) 2>/dev/null; echo "action move $?"
git status --short >/dev/null; echo "action status $?"
"""


def test_in_the_main_checkout_neither_git_nor_sow_is_writable(site: Site) -> None:
    begin(site)
    (site.base / "author.sh").write_text(IN_ROOT)
    (site.root / ".sow/config.yaml").write_text("")
    configure(site, sandbox="bwrap")
    site.sow("agent", "spawn", "implementer", "010", expect=None)
    done = managed(site, 1)
    assert {name for name, is_done in done.items() if is_done} == {"write", "status"}
    assert len(done) == 7


CHECK = "test -w . && ! cat {home}/.ssh/id_test && ! echo x >>{home}/.profile && touch /tmp/x"


@pytest.mark.parametrize("is_fenced", [True, False])
def test_a_check_has_a_sandbox_as_well(site: Site, is_fenced: bool) -> None:
    with surroundings(site) as variables:
        begin(site)
        check: dict[str, Any] = {"run": CHECK.format(home=variables["H"])}
        check |= {"sandbox": "bwrap", "network": "loopback"} if is_fenced else {}
        settings = {"checks": {"unit": check}}
        (site.root / ".sow/config.yaml").write_text(yaml.safe_dump(settings))
        shown = site.sow("trust", "--yes").out
        assert ("(sandbox: bwrap, network: loopback)" in shown) == is_fenced
        site.sow("project", "check", "unit", expect=0 if is_fenced else 1)
        (site.root / ".sow/config.yaml").write_text(
            yaml.safe_dump({"checks": {"unit": {"run": check["run"]}}})
        )
        if is_fenced:  # without its sandbox it is another command line
            site.sow("project", "check", "unit", "--wait", "1s", expect=75)


@pytest.mark.parametrize("is_fenced", [True, False])
def test_the_setup_of_a_clone_has_one_too(site: Site, is_fenced: bool) -> None:
    with surroundings(site) as variables:
        begin(site)
        (site.base / "author.sh").write_text("#!/bin/sh\nls >&2\ncat made\n")
        clones: dict[str, Any] = {"use": "always", "setup": f"echo done >made; {CHECK}"}
        clones["setup"] = clones["setup"].format(home=variables["H"])
        clones |= {"setup_sandbox": "bwrap"} if is_fenced else {}
        (site.root / ".sow/config.yaml").write_text(yaml.safe_dump({"clones": clones}))
        site.sow("trust", "--yes")
        configure(site, sandbox="bwrap")
        site.sow("agent", "spawn", "implementer", "010", expect=None)
        assert (output(site, 1) == "done\n") == is_fenced
        assert (site.job(1)["cause"] == "setup_failed") != is_fenced


WITHOUT_NAMESPACES = (
    *("unshare", "--user", "--map-root-user", "/bin/sh", "-c"),
    'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"',
    "sh",
)
"""Runs a command where nobody can make another user namespace."""


def test_nothing_is_started_where_there_can_be_no_sandbox(site: Site) -> None:
    begin(site, sandbox="bwrap")
    (site.base / "author.sh").write_text(f"#!/bin/sh\ntouch {site.base}/ran\n")

    def sow(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*WITHOUT_NAMESPACES, str(SOW), *words],
            cwd=site.root,
            env=site.environment(),
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    done = sow("agent", "spawn", "implementer", "010")
    words = "asks for sandbox: bwrap, but it cannot make its namespaces here: bwrap: "
    assert done.returncode == 5, done
    assert f"executor author {words}" in done.stdout + done.stderr
    assert site.job(1)["cause"] == "sandbox_failed"
    assert site.task("010")["status"] == "failed"
    assert not (site.base / "ran").exists()
    examined = sow("doctor", "author")
    assert examined.returncode == 1
    assert "author: its sandbox (bwrap) does not work here: it cannot make its" in examined.stdout
    site.sow("worker", "stop")
    site.sow("agent", "spawn", "implementer", "020", expect=None)
    assert (site.base / "ran").exists() is False  # it lies outside of its sandbox
    assert site.job(2)["cause"] == "no_status"
    assert "author: its sandbox works (/usr/bin/bwrap)" in site.sow("doctor", "author").out


PATIENT = """#!/bin/sh
cat >/dev/null
trap 'echo interrupted; exit 0' INT
echo up
while :; do sleep 0.05; done
"""


def test_it_outlives_its_worker_and_is_cancelled_kindly_by_the_next(site: Site) -> None:
    begin(site, sandbox="bwrap")
    (site.base / "author.sh").write_text(PATIENT)
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    path = site.root / ".sow/run/jobs/1/1/output.jsonl"
    wait_until(lambda: path.exists() and "up" in path.read_text(), "the agent is up")
    (worker,) = site.workers()
    site.kill(worker["pid"])
    wait_until(lambda: not procfs.variables(worker["pid"]), "the worker is dead")
    assert output(site, 1) == "up\n"
    next_worker = site.start("worker", "--drain")
    site.sow("agent", "cancel", "010", expect=None)
    next_worker.communicate(timeout=240)
    assert output(site, 1) == "up\ninterrupted\n"
    assert site.job(1)["state"] == "cancelled"
    assert len(site.job(1)["attempts"]) == 1


def test_a_killed_supervisor_takes_it_along_and_it_is_run_again(site: Site) -> None:
    begin(site, sandbox="bwrap")
    ran = "test -e ran && exit 0; touch ran; echo up; while :; do sleep 0.05; done"
    (site.base / "author.sh").write_text(f"#!/bin/sh\ncat >/dev/null\n{ran}\n")
    configure(site, sandbox="bwrap", retries=2)
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    path = site.root / ".sow/run/jobs/1/1/output.jsonl"
    wait_until(lambda: path.exists() and "up" in path.read_text(), "the agent is up")
    attempt = site.job(1)["attempts"][0]
    inside = procfs.carriers("SOW_ATTEMPT_ID", attempt["id"])
    assert len(inside) >= 3
    site.kill(attempt["pid"])
    wait_until(lambda: not procfs.carriers("SOW_ATTEMPT_ID", attempt["id"]), "all have gone")
    site.sow("agent", "wait", "010", expect=None)
    causes = [each["cause"] for each in site.job(1)["attempts"]]
    assert causes[0] == "worker_died"
    assert "no_status" in causes


def test_a_reviewer_in_a_sandbox_sees_the_change_and_writes_its_own_clone_alone(
    site: Site,
) -> None:
    """Its throw-away clone borrows the objects of the main repository, which is hidden."""
    begin(site)
    author, reviewer = site.base / "author.sh", site.base / "reviewer.sh"
    author.write_text(
        "#!/bin/sh\ncat >/dev/null\necho new >>code.txt\nsow task set status needs_review\n"
    )
    reviewer.write_text(
        "#!/bin/sh\ncat >/dev/null\ngit show --format=%s HEAD:code.txt\ngit log --format=%an -1\n"
        f"cat {site.root}/code.txt 2>/dev/null\ntouch {site.root}/made 2>/dev/null\n"
        "git status --short && echo clean\n"
    )
    reviewer.chmod(0o755)
    executors = {
        name: {"type": "command", "settings": {"command": [str(program)]}, "retries": 0}
        for name, program in (("author", author), ("critic", reviewer))
    }
    executors["critic"]["sandbox"] = "bwrap"
    bindings = {"implementer": "author", "reviewer": "critic"}
    site.configure({"agents": {"executors": executors, "bindings": bindings}})
    site.sow("agent", "spawn", "implementer", "010")
    site.sow("agent", "review", "010", expect=None)
    lines = output(site, 2).splitlines()
    assert lines[:2] == ["code", "new"], (lines, site.worker_logs())
    assert lines[-1] == "clean"
    assert len(lines) == 4
    assert not (site.root / "made").exists()


def test_a_secret_of_a_file_reaches_it_though_the_file_does_not(site: Site) -> None:
    begin(site)
    secret = site.base / "home/secret"
    secret.write_text("a-secret-of-the-users\n")
    secret.chmod(0o600)
    (site.base / "author.sh").write_text(
        f"#!/bin/sh\ncat >/dev/null\ncat {secret} 2>/dev/null\n"
        'test "$KEY" = a-secret-of-the-users && echo given\necho "$KEY"\n'
    )
    configure(site, sandbox="bwrap", env_files={"KEY": str(secret)})
    site.sow("agent", "spawn", "implementer", "010", expect=None)
    lines = output(site, 1).splitlines()
    assert lines[0] == "given", (lines, site.worker_logs())
    assert len(lines) == 2
    assert "a-secret-of-the-users" not in lines[1]


REPORTING = """#!/bin/sh
cat >/dev/null
while [ ! -S "$SOW_REPORT_SOCKET" ]; do sleep 0.05; done
sow agent log "From inside" && echo "action log 0"
sow task set 020 status completed 2>/dev/null; echo "action other $?"
sow job list 2>/dev/null; echo "action queue $?"
sow agent spawn implementer 020 2>/dev/null; echo "action spawn $?"
sow task set status needs_review; echo "action status $?"
"""


def test_an_agent_in_a_sandbox_reports(site: Site) -> None:
    begin(site, sandbox="bwrap")
    (site.base / "author.sh").write_text(REPORTING)
    site.sow("agent", "spawn", "implementer", "010", expect=None)
    wait_until(lambda: site.job(1)["state"] == "done", "its end")
    done = managed(site, 1)
    refused = {"other": False, "queue": False, "spawn": False}
    assert done == {"log": True, "status": True, **refused}, (site.worker_logs(), output(site, 1))
    assert site.task("010")["status"] == "needs_review"
    assert site.task("020")["status"] == "pending"
    entries = read_entries(site.task_folder("010") / "log.md")
    assert [each.agent for each in entries if each.action == "From inside"] == ["implementer"]
    assert not (site.root / ".sow/run/jobs/1/1/reports").exists()


def test_it_reports_from_inside(site: Site) -> None:
    begin(site)
    (site.base / "author.sh").write_text(
        "#!/bin/sh\ncat >/dev/null\nsow agent log 'From inside'\nsow task set status needs_review\n"
    )
    configure(site, sandbox="bwrap")
    site.sow("agent", "spawn", "implementer", "010", expect=None)
    assert site.task("010")["status"] == "needs_review", (output(site, 1), site.worker_logs())
    assert "From inside" in (site.task_folder("010") / "log.md").read_text()
    assert site.job(1)["cause"] == "reported"
