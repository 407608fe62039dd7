"""`sow` as a process that is forked from an interpreter which has imported it (`fork_server`)."""

import array
import atexit
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import IO

SERVER = Path(__file__).with_name("fork_server.py")
SHIM = Path(__file__).with_name("fork_shim.py")
SECONDS = 60.0
PYTHON = "python-forking"
"""What `sys.executable` is in a forked `sow`: who starts `sow` with it gets a fork as well."""


@cache
def server() -> Path:
    """Return the folder of the server of this run of tests, started with the first request."""
    folder = Path(tempfile.mkdtemp(prefix="forked-", dir="/tmp"))
    put_shim(folder / PYTHON, folder)
    process = subprocess.Popen(
        [sys.executable, "-P", str(SERVER), str(folder)],
        stdin=subprocess.PIPE,
        cwd="/",
        env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(folder)},
    )
    atexit.register(_end, process, folder)
    deadline = time.monotonic() + SECONDS
    while not (folder / "socket").exists():
        assert process.poll() is None, "the server of forks has ended"
        assert time.monotonic() < deadline, "the server of forks does not answer"
        time.sleep(0.01)
    return folder


def put_shim(path: Path, folder: Path) -> None:
    """Write a program that asks the server in a folder for forks, as `python` or as `sow`."""
    program = Path(sys.executable).with_name("sow")
    names = f"SOW, SOCKET = {str(program)!r}, {str(folder / 'socket')!r}"
    text = SHIM.read_text().replace('SOW, SOCKET = "", ""', names)
    path.write_text(f"#!{sys.executable} -IS\n{text}")
    path.chmod(0o755)


def _end(process: "subprocess.Popen[bytes]", folder: Path) -> None:
    assert process.stdin is not None
    process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(SECONDS)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


def is_forkable(env: Mapping[str, str]) -> bool:
    """Whether a process with these variables begins as the server's interpreter did."""
    locale = {env.get(name, "C.UTF-8") for name in ("LANG", "LC_ALL", "LC_CTYPE")}
    odd = any(name.startswith(("PYTHON", "LD_")) for name in env)
    return locale == {"C.UTF-8"} and not odd


def run_forked(
    *words: str, env: Mapping[str, str], cwd: Path, stdin: str | None, seconds: float
) -> tuple[int, str, str]:
    """Run `sow` to its end; return its exit code and what it printed on both streams.

    Raises TimeoutExpired.
    """
    argv = [str(Path(sys.executable).with_name("sow")), *words]
    with ExitStack() as stack:
        (given, giving), (out, out_end), (err, err_end), (ended, end_pipe) = (
            _pipe(stack) for _ in range(4)
        )
        streams = (given, out_end, err_end, end_pipe)
        _ask([str(cwd), str(server() / PYTHON), str(len(argv)), *argv], env, streams)
        for stream in streams:
            stream.close()
        printed = {stream: bytearray() for stream in (out, err, ended)}
        readers = [
            threading.Thread(target=_read, args=(stream, data)) for stream, data in printed.items()
        ]
        for reader in readers:
            reader.start()
        with giving, suppress(BrokenPipeError):
            giving.write((stdin or "").encode())
        deadline = time.monotonic() + seconds
        for reader in readers:
            reader.join(max(0.0, deadline - time.monotonic()))
        pid, *status = map(int, printed[ended].split())
        if any(reader.is_alive() for reader in readers):
            os.kill(pid, 9)
            for reader in readers:
                reader.join(5.0)
            raise subprocess.TimeoutExpired(argv, seconds)
        code = os.waitstatus_to_exitcode(status[0])
        return code, printed[out].decode(), printed[err].decode()


def _ask(fields: Sequence[str], env: Mapping[str, str], streams: Sequence[IO[bytes]]) -> None:
    texts = [*fields, *(f"{name}={value}" for name, value in env.items())]
    with tempfile.TemporaryFile() as wanted, socket.socket(socket.AF_UNIX) as connection:
        wanted.write(b"".join(os.fsencode(text) + b"\0" for text in texts))
        wanted.flush()
        connection.connect(str(server() / "socket"))
        numbers = array.array("i", [wanted.fileno(), *(stream.fileno() for stream in streams)])
        connection.sendmsg([b"r"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, numbers)])


def _pipe(stack: ExitStack) -> tuple[IO[bytes], IO[bytes]]:
    reading, writing = os.pipe()
    return (
        stack.enter_context(os.fdopen(reading, "rb", 0)),
        stack.enter_context(os.fdopen(writing, "wb", 0)),
    )


def _read(stream: IO[bytes], data: bytearray) -> None:
    while more := stream.read(1 << 16):
        data += more
