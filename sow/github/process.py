"""One process of `gh`: started, given its input, read as far as there is room, and ended.

Owns its time and how much of its output is held in memory. What its words mean is `run`'s.
"""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from sow.errors import StateError

MOST_BYTES = 64 << 20
"""Of each of its two outputs: some ten thousand issues."""
CHUNK = 1 << 16
PIPE = 512
"""So many bytes go into a pipe that can be written to without waiting, on every system."""


def run_gh(
    folder: Path,
    words: Sequence[str],
    what: str,
    stdin: bytes | None,
    seconds: float,
    environ: Mapping[str, str],
    holds: int | None = None,
) -> tuple[int, bytes, str]:
    """Run `gh` in a process group of its own; return its exit code, output and complaint.

    Whatever ends the call ends also what `gh` has started. `what` is the request in words.
    Raises StateError.
    """
    try:
        process = subprocess.Popen(
            ["gh", *words],
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
            pass_fds=() if holds is None else (holds,),
        )
    except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
        raise StateError(
            "gh, GitHub's command-line program, is not installed, or is not on the PATH",
            hint="Install it (https://cli.github.com; Debian: apt install gh), then: gh auth login",
        ) from error
    except OSError as error:
        raise StateError(
            f"gh cannot be started: {(error.strerror or str(error)).lower()}",
            hint="See that `gh --version` answers here, then call again.",
            passes=True,
        ) from error
    try:
        output, complaint = _talk(process, stdin or b"", what, time.monotonic() + seconds)
    except subprocess.TimeoutExpired as error:
        raise StateError(
            f"{what} was not answered within {seconds:g} s",
            hint="Call again. If something was to be made, the same call again finds it.",
            passes=True,
        ) from error
    finally:
        _end(process)
    if process.returncode < 0:
        raise StateError(
            f"gh was ended by signal {(-process.returncode)} during {what}",
            hint="See what ended it (the machine's memory, say), then call again.",
            passes=True,
        )
    return process.returncode, output, complaint.decode("utf-8", "replace")


def _talk(
    process: "subprocess.Popen[bytes]", stdin: bytes, what: str, deadline: float
) -> tuple[bytes, bytes]:
    """Give a process its input and read both outputs to their ends, and wait for its own.

    Raises TimeoutExpired at the deadline (monotonic), and StateError.
    """
    assert process.stdout is not None  # noqa: S101 - it was asked for
    assert process.stderr is not None  # noqa: S101 - it was asked for
    output, complaint, left = bytearray(), bytearray(), memoryview(stdin)
    with selectors.DefaultSelector() as streams:
        streams.register(process.stdout, selectors.EVENT_READ, output)
        streams.register(process.stderr, selectors.EVENT_READ, complaint)
        if process.stdin is not None:
            streams.register(process.stdin, selectors.EVENT_WRITE)
        while streams.get_map():
            ready = streams.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                raise subprocess.TimeoutExpired("gh", 0)
            for key, _ in ready:
                if key.data is None:
                    left = left[_write(key.fd, left[:PIPE]) :]
                    ended = not left
                else:
                    ended = not _read(key.fd, key.data, what)
                if ended:
                    streams.unregister(key.fileobj)
                if ended and key.fileobj is process.stdin:
                    process.stdin.close()
    process.wait(timeout=max(0.0, deadline - time.monotonic()))
    return bytes(output), bytes(complaint)


def _write(fd: int, part: memoryview) -> int:
    """Write a part of the input; all of it counts as written where nobody reads it any more."""
    try:
        return os.write(fd, part)
    except BrokenPipeError:
        return len(part)


def _read(fd: int, into: bytearray, what: str) -> bool:
    """Read on; return whether there was more. Raises StateError."""
    part = os.read(fd, CHUNK)
    into += part
    if len(into) > MOST_BYTES:
        most = MOST_BYTES
        raise StateError(
            f"gh has printed more than {most >> 20} MB for {what}",
            hint="See with `gh --version` that it is GitHub's gh that is on the PATH, and with"
            " `gh api user` that it prints an answer and no more.",
        )
    return bool(part)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a process that has not ended, and all that it has started in its group."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
