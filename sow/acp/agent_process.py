"""The agent's program, and the lines to and from it.

Owns the process, both its pipes, and the record of the wire. The agent has a session of the
system's of its own, so that a signal to this program's group does not reach it: its end is asked
for over the wire. Whatever it inherits besides (a supervisor's lock) it keeps.

Nothing that the agent does may fill this program's memory or block it: its output is read only when
a message is asked for, its input is written as far as it reads it, and a line has a limit.
"""

import json
import os
import select
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

Json = dict[str, Any]

LONGEST_LINE = 16 << 20
"""A longer line is noise, in bytes. Parsed, it may take twenty times as much."""
MOST_UNREAD = 8 << 20
"""How much may wait for an agent to read it, in bytes."""
PIECE = 1 << 16
MOST_NOISE, MOST_PROSE = 4_000, 300
PROSE_LINES = 3
"""How many lines of prose are kept: the first, and the last ones, for a failure comes last."""
MESSAGE = ("id", "method")
"""The keys of which each message has one."""
MOST_RECORD = 256 << 20
"""The record grows no further, in bytes."""
LOOK_SECONDS = 0.02
"""How often it is looked whether the agent has ended: its pipe may stay open without it."""
FROM_AGENT, TO_AGENT = "from", "to"


class AgentProcess:
    """A running agent."""

    def __init__(
        self, command: Sequence[str], folder: str, record: Path, secrets: Sequence[str] = ()
    ) -> None:
        """Start it; the record has the names of `secrets`, not their values. Raises OSError."""
        self._record = _Record(record, secrets)
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            close_fds=False,
            start_new_session=True,
        )
        pipes = (self._process.stdin, self._process.stdout)
        to_agent, from_agent = (pipe.fileno() for pipe in pipes if pipe is not None)
        self._input: int | None = to_agent
        self._output: int | None = from_agent
        self._wakes, self._waker = os.pipe()
        for end in (to_agent, from_agent, self._wakes, self._waker):
            os.set_blocking(end, False)
        self._unread = bytearray()
        self._lines = _Lines()
        self.prose: list[str] = []
        """The beginnings of lines that are no message of the protocol."""

    @property
    def is_deaf(self) -> bool:
        """Whether it leaves unread what it is sent."""
        return len(self._unread) > MOST_UNREAD

    def wake(self) -> None:
        """End a wait for a message; may be called by a handler of a signal."""
        with suppress(OSError):
            os.write(self._waker, b"w")

    def send(self, message: Json) -> None:
        """Send a message; an agent that reads no more shows by its end."""
        line = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode(
            "utf-8", "replace"
        )
        self._record.message(TO_AGENT, line)
        if self._input is not None:
            self._unread += line + b"\n"
            self._write()

    def receive(self, seconds: float) -> Json | None:
        """Return its next message; None when time is up, a `wake` came or it sent noise.

        Raises EOFError once there will be none.
        """
        until = time.monotonic() + seconds
        while (line := self._lines.take()) is None:
            if self._output is None:
                raise EOFError
            if not self._exchange(until):
                return None
        try:
            found = json.loads(line.decode()) if len(line) <= LONGEST_LINE else None
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or found.keys().isdisjoint(MESSAGE):
            self._note_prose(line)
        if not isinstance(found, dict):
            self._record.note(noise=line[:MOST_NOISE].decode("utf-8", "replace"))
            return None
        self._record.message(FROM_AGENT, line)
        return found

    def _note_prose(self, line: bytes) -> None:
        if len(self.prose) == PROSE_LINES:
            del self.prose[1]
        self.prose.append(line[:MOST_PROSE].decode("utf-8", "replace").strip())

    def close_input(self) -> None:
        """Tell it that nothing more comes, which ends most agents."""
        if self._input is not None:
            self._record.note(stdin="closed")
            self._forget_input()

    def wait(self, seconds: float) -> int | None:
        """Return its exit code, or the negative number of a signal; None if it runs on.

        What it still writes is read and forgotten, for an agent that cannot write may never end.
        """
        until = time.monotonic() + seconds
        while (code := self._process.poll()) is None and (left := until - time.monotonic()) > 0:
            look = min(LOOK_SECONDS, left)
            if self._output is None:
                time.sleep(look)
            elif select.select([self._output], [], [], look)[0]:
                self._read()
        if code is not None:
            self._record.note(exit_code=code)
        return code

    def terminate(self) -> None:
        """Ask its group to end."""
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGTERM)

    def _exchange(self, until: float) -> bool:
        """Read and write what can be, waiting for it; return False when time is up, or woken."""
        watched = select.poll()
        watched.register(self._wakes, select.POLLIN)
        if self._output is not None:
            watched.register(self._output, select.POLLIN)
        if self._input is not None and self._unread:
            watched.register(self._input, select.POLLOUT)
        ready = {end for end, _ in watched.poll(max(0.0, until - time.monotonic()) * 1000)}
        if self._output in ready:
            self._lines.add(self._read())
        if self._input in ready:
            self._write()
        if self._wakes in ready:
            os.read(self._wakes, PIECE)
            return False
        return bool(ready)

    def _read(self) -> bytes:
        """Return what it has written; its output is over where it will write no more."""
        if self._output is None:
            return b""
        try:
            piece = os.read(self._output, PIECE)
        except BlockingIOError:
            return b""
        except OSError:
            piece = b""
        if not piece:
            self._output = None
        return piece

    def _write(self) -> None:
        """Write what it has not read yet, as far as there is room."""
        while self._input is not None and self._unread:
            try:
                written = os.write(self._input, self._unread[:PIECE])
            except BlockingIOError:
                return
            except OSError:  # it has gone, or reads no more
                self._forget_input()
                return
            del self._unread[:written]

    def _forget_input(self) -> None:
        self._input = None
        self._unread.clear()
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()


class _Lines:
    """Makes lines of pieces that end anywhere; of one that is too long it keeps the beginning."""

    def __init__(self) -> None:
        self._whole: deque[bytes] = deque()
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, piece: bytes) -> None:
        """Take in what was read."""
        *ends, rest = piece.split(b"\n")
        for end in ends:
            self._keep(end)
            line = b"".join(self._parts)
            self._parts, self._size = [], 0
            if line.strip():
                self._whole.append(line)
        self._keep(rest)

    def take(self) -> bytes | None:
        """Return the next whole line, longer than LONGEST_LINE where it was too long; else None."""
        return self._whole.popleft() if self._whole else None

    def _keep(self, part: bytes) -> None:
        if part and self._size <= LONGEST_LINE:
            self._parts.append(part)
            self._size += len(part)


class _Record:
    """The file of the wire; a disk that is full ends nothing."""

    def __init__(self, path: Path, secrets: Sequence[str]) -> None:
        self._cleaned: Callable[[bytes], bytes] | None = None
        if secrets:
            # Few agents have any.
            from sow.blanking import Blanker, values_in

            self._cleaned = Blanker(values_in(os.environ, ",".join(secrets))).whole
        self._file: int | None = None
        self._left = MOST_RECORD
        with suppress(OSError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
            self._file = os.open(path, flags | os.O_CLOEXEC, 0o600)

    def message(self, way: str, line: bytes) -> None:
        """Write a message as it stood on the wire: `from` the agent, or `to` it."""
        self._write(f'{{"at": {time.time():.3f}, "{way}": '.encode() + line.strip() + b"}")

    def note(self, **fields: Any) -> None:
        """Write what is no message."""
        self._write(json.dumps({"at": round(time.time(), 3), **fields}).encode())

    def _write(self, line: bytes) -> None:
        if self._cleaned is not None:
            line = self._cleaned(line)
        self._left -= len(line)
        if self._file is not None and self._left > 0:
            with suppress(OSError):
                os.write(self._file, line + b"\n")
