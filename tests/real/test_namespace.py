"""The network namespace: loopback and nothing else."""

import os
import signal
import sys
from pathlib import Path

import pytest
from capabilities import skip_or_fail
from namespace import Namespace, NamespaceUnavailable, open_namespace
from own_user import NAME, give, make_user
from started_with import STARTED_WITH

pytestmark = pytest.mark.slow  # it starts processes in namespaces

INTERFACES = "import socket; print(*(name for _, name in socket.if_nameindex()))"
LISTEN_AND_CONNECT = """
import socket
server = socket.create_server(("127.0.0.1", 0))
socket.create_connection(server.getsockname(), timeout=60)
try:
    socket.create_connection(("192.0.2.1", 80), timeout=60)
except OSError as refused:
    print(refused.strerror)
"""


def test_only_loopback_is_there(namespace: Namespace) -> None:
    done = namespace.run([sys.executable, "-c", INTERFACES], timeout=240)
    assert done.stdout.split() == ["lo"]


def test_loopback_works_and_the_world_is_out_of_reach(namespace: Namespace) -> None:
    done = namespace.run([sys.executable, "-c", LISTEN_AND_CONNECT], timeout=240)
    assert done.stdout.strip() == "Network is unreachable", done.stderr


def test_whoever_is_inside_is_seen_and_ended(namespace: Namespace) -> None:
    """Also a process of its own session whose parent is gone."""
    script = "setsid sleep 986 >/dev/null 2>&1 & echo $!"
    done = namespace.run(["/bin/sh", "-c", script], timeout=240)
    pid = int(done.stdout)
    assert pid in namespace.inhabitants()
    assert pid in namespace.clear()
    assert namespace.inhabitants() == {}


def test_the_holder_is_not_an_inhabitant(namespace: Namespace) -> None:
    os.kill(namespace.holder, signal.SIGCONT)
    assert namespace.inhabitants() == {}


AS_USER = """
import getpass, os, pathlib
print(getpass.getuser(), os.getuid(), os.getgroups(), pathlib.Path.cwd())
try:
    pathlib.Path("/etc/shadow").read_text()
except PermissionError as refused:
    print(refused.strerror)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user")
def test_programs_run_as_a_user_made_for_it(tmp_path: Path) -> None:
    """It finds this Python, wherever that lies, and the machine knows nothing of it."""
    before = Path("/etc/passwd").read_bytes()
    home = tmp_path / "home"
    home.mkdir()
    user = make_user(tmp_path, home)
    tmp_path.chmod(0o755)
    give(user, (home,))
    try:
        with open_namespace(STARTED_WITH, user) as namespace:
            argv = [sys.executable, "-c", AS_USER]
            done = namespace.run(argv, cwd=home, env={"PATH": "/usr/bin:/bin"}, timeout=240)
    except NamespaceUnavailable as missing:
        skip_or_fail(f"there is no namespace for another user: {missing}")
    words = f"{NAME} {user.number} [] {home}"
    assert done.stdout.splitlines() == [words, "Permission denied"], done.stderr
    assert Path("/etc/passwd").read_bytes() == before
