"""Processes of ours forked from an interpreter that has imported them, and the server that forks.

`sow` spends a quarter of a second on its imports; a fork takes some milliseconds. What comes out is
a process like any other: its own pid, environment, folder and descriptors, and it ends by itself.
What differs is what the start of an interpreter is about, such as `PYTHON…` variables and the
command line in `/proc`: a test of those starts the true program.

The server serves one run of tests, on a socket in the folder that its argument names, and leaves
when its standard input ends. A request is one byte with descriptors: a file, the standard streams,
any others that the process is to hold, and a pipe on which the server tells the pid and, later,
the exit status.
The file has texts that each end with a NUL: the folder, what `sys.executable` is to be,
the number of words, these words, and the variables as `NAME=value`.
"""

import array
import importlib
import io
import os
import pkgutil
import select
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

HEAVY = ("sow.watching", "sow.mcp_server", "sow.cli.mcp", "worker.supervisor")
"""What few commands import, and then by themselves."""
MOST_DESCRIPTORS = 32
MOST_BYTES = 1 << 26


def main() -> None:
    folder = Path(sys.argv[1])
    _import_all()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "draft"))
        listener.listen(64)
        (folder / "draft").rename(folder / "socket")
        _serve(listener)


def _import_all() -> None:
    for package in ("sow", "worker"):
        for name in _modules(package):
            importlib.import_module(name)


def _modules(package: str) -> Iterator[str]:
    yield package
    for found in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
        if found.name.endswith("__main__") or found.name.startswith(HEAVY):
            continue
        if found.ispkg:
            yield from _modules(found.name)
        else:
            yield found.name


def _serve(listener: socket.socket) -> None:
    waking, woken = os.pipe()
    for end in (waking, woken):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    answers: dict[int, int] = {}
    while True:
        ready = select.select([listener, waking, 0], [], [])[0]
        if 0 in ready:
            return
        if waking in ready:
            os.read(waking, 4096)
            _reap(answers)
        if listener in ready:
            _fork_one(listener, answers)


def _reap(answers: dict[int, int]) -> None:
    while answers:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        descriptor = answers.pop(pid)
        _tell(descriptor, status)
        os.close(descriptor)


def _tell(descriptor: int, number: int) -> None:
    try:
        os.write(descriptor, f"{number}\n".encode())
    except OSError:  # nobody waits for it any more
        return


def _fork_one(listener: socket.socket, answers: dict[int, int]) -> None:
    connection, _ = listener.accept()
    with connection:
        _, ancillary, _, _ = connection.recvmsg(1, socket.CMSG_SPACE(4 * MOST_DESCRIPTORS))
    descriptors = array.array("i")
    for _, _, data in ancillary:
        descriptors.frombytes(data)
    if len(descriptors) < 5:
        return
    request, *streams, answer = descriptors
    pid = os.fork()
    if not pid:
        _become(request, streams)
    for descriptor in (request, *streams):
        os.close(descriptor)
    answers[pid] = answer
    _tell(answer, pid)


def _become(request: int, streams: list[int]) -> NoReturn:
    """Go on as the program that a request names. Descriptors after the third stay open."""
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        cwd, python, argc, *texts = os.pread(request, MOST_BYTES, 0).split(b"\0")
        _take(streams)
        argv, variables = texts[: int(argc)], texts[int(argc) : -1]
        os.environb.clear()
        os.environb.update(dict(variable.split(b"=", 1) for variable in variables))
        time.tzset()
        os.chdir(cwd)
        sys.argv = [os.fsdecode(word) for word in argv]
        sys.executable = os.fsdecode(python)
        from sow.__main__ import main as run

        run()
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
    os._exit(70)


def _take(streams: list[int]) -> None:
    """Have the descriptors 0, 1 and 2 be those of the request, and close all but its others."""
    most = max(streams) + 100
    high = [_above(descriptor, most) for descriptor in streams]
    for number, descriptor in enumerate(high[:3]):
        os.dup2(descriptor, number)
    left = 3
    for descriptor in high[3:]:
        os.dup2(descriptor, left, inheritable=False)
        left += 1
    os.closerange(left, most + len(high) + MOST_DESCRIPTORS)
    reading, writing = ("r", "surrogateescape"), ("w", "surrogateescape")
    sys.stdin = _stream(0, *reading)
    sys.stdout = _stream(1, *writing)
    sys.stderr = _stream(2, "w", "backslashreplace", line_buffering=True)


def _above(descriptor: int, least: int) -> int:
    import fcntl

    return fcntl.fcntl(descriptor, fcntl.F_DUPFD, least)


def _stream(descriptor: int, mode: str, errors: str, **options: Any) -> io.TextIOWrapper:
    """Return a standard stream as the interpreter makes it in the locale C.UTF-8."""
    is_terminal = os.isatty(descriptor)
    opened = open(  # noqa: SIM115
        descriptor,
        mode,
        buffering=1 if is_terminal else -1,
        encoding="utf-8",
        errors=errors,
        closefd=False,
    )
    if options:
        opened.reconfigure(**options)
    return opened


if __name__ == "__main__":
    main()
