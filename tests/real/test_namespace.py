"""The network namespace: loopback and nothing else."""

import os
import signal
import sys

import pytest
from namespace import Namespace

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
