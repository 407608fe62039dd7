"""The agent's program, and the lines to and from it.

Owns the process, its standard input, and the record of the wire. The agent has a session of the
system's of its own, so that a signal to this program's group does not reach it: its end is asked
for over the wire. Whatever it inherits besides (a supervisor's lock) it keeps.
"""

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

Json = dict[str, Any]

LONGEST_LINE = 64 << 20
"""A longer line is noise, in bytes."""
MOST_NOISE = 4_000
MOST_RECORD = 256 << 20
"""The record grows no further, in bytes."""
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
            close_fds=False,
            start_new_session=True,
        )
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self.wake: Callable[[], None] = lambda: self._lines.put(b"")
        """Ends a wait for a message; may be called by a handler of a signal."""
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, message: Json) -> None:
        """Send a message; an agent that reads no more shows by its end."""
        line = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode(
            "utf-8", "replace"
        )
        self._record.message(TO_AGENT, line)
        stream = self._process.stdin
        with suppress(OSError, ValueError):  # it has gone, or was closed before
            if stream is not None:
                stream.write(line + b"\n")
                stream.flush()

    def receive(self, seconds: float | None) -> Json | None:
        """Return its next message; None when time is up, a `wake` came or it sent noise.

        Raises EOFError once there will be none.
        """
        try:
            line = self._lines.get(timeout=None if seconds is None else max(0.0, seconds))
        except Empty:
            return None
        if line is None:
            self._lines.put(None)
            raise EOFError
        if not line:
            return None
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            self._record.note(noise=line[:MOST_NOISE].decode("utf-8", "replace"))
            return None
        self._record.message(FROM_AGENT, line)
        return found

    def close_input(self) -> None:
        """Tell it that nothing more comes, which ends most agents."""
        self._record.note(stdin="closed")
        with suppress(OSError, ValueError):
            if self._process.stdin is not None:
                self._process.stdin.close()

    def wait(self, seconds: float) -> int | None:
        """Return its exit code, or the negative number of a signal; None if it runs on."""
        try:
            code = self._process.wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            return None
        self._record.note(exit_code=code)
        return code

    def terminate(self) -> None:
        """Ask its group to end."""
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGTERM)

    def _read(self) -> None:
        """Put each line into the queue; by a thread of its own, so that no write can block it."""
        stream = self._process.stdout
        with suppress(OSError, ValueError):
            while stream is not None and (line := stream.readline(LONGEST_LINE)):
                if line.endswith(b"\n"):
                    self._lines.put(line[:-1])
                else:  # too long, or cut off by its end
                    while line and not line.endswith(b"\n"):
                        line = stream.readline(LONGEST_LINE)
        self._lines.put(None)


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
