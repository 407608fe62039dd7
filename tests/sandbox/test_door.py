"""The first program in a sandbox with a proxy, run as it is, with nobody or somebody outside."""

import array
import os
import socket
import subprocess
import sys
from collections.abc import Sequence

import pytest

from sow.sandbox import door

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is Linux's")
ANY_PORT = "0"


def run(ours: socket.socket, *argv: str) -> "subprocess.Popen[str]":
    """Start it with the other end of a socket for its door."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", door.__file__, ANY_PORT, *argv],
        env={"SOW_DOOR": str(ours.fileno()), "KEPT": "a b\nc"},
        pass_fds=[ours.fileno()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def opened(variables: bytes, *argv: str) -> tuple[int, Sequence[str], str]:
    """Run it with somebody outside who answers; return code, output and errors."""
    outside, inside = socket.socketpair()
    with outside, inside:
        process = run(inside, *argv)
        inside.close()
        _, [(_, _, data)], _, _ = outside.recvmsg(1, socket.CMSG_LEN(4))
        (number,) = array.array("i", data)
        with socket.socket(fileno=number) as listener:
            assert listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1
            assert listener.getsockname()[0] == "127.0.0.1"
        outside.sendall(variables)
        outside.close()
        out, err = process.communicate(timeout=60)
        return process.returncode, out.splitlines(), err


def test_it_becomes_the_agent_with_the_variables_from_outside() -> None:
    code, lines, _ = opened(b"A=1\0B=x=y\0", "/usr/bin/env")
    assert (code, sorted(lines)) == (0, ["A=1", "B=x=y", "KEPT=a b", "c"])


@pytest.mark.parametrize("variables", [b"", b"A=1\0B="])
def test_no_agent_begins_where_the_other_end_falls_silent(variables: bytes) -> None:
    code, lines, err = opened(variables, "/bin/echo", "began")
    assert (code, lines) == (1, [])
    assert err.startswith("the proxy of network: allow cannot be reached: ")


def test_no_agent_begins_where_nobody_is_outside() -> None:
    outside, inside = socket.socketpair()
    with inside:
        outside.close()
        process = run(inside, "/bin/echo", "began")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert err.startswith("the proxy of network: allow cannot be reached: ")


@pytest.mark.parametrize(("program", "code"), [("/does/not/exist", 127), (os.devnull, 126)])
def test_a_program_that_cannot_be_run_is_told_as_by_a_shell(program: str, code: int) -> None:
    ended, _, err = opened(b"A=1\0", program)
    assert ended == code
    assert err.startswith(f"cannot run {program}: ")
