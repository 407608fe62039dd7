"""What an agent prints, read as it grows.

Owns the position in the file and the folding of events. Knows nothing of jobs.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sow.executors.base import Event, Executor, Observation

CHUNK_BYTES = 1 << 20
LONGEST_LINE_BYTES = 16 << 20
"""A longer line is noise: it is skipped, so that no agent can fill our memory."""
TAIL_BYTES = 8192


@dataclass
class OutputReader:
    """Reads the lines that a file has gained since the last look."""

    path: Path
    executor: Executor
    seen: Observation = field(default_factory=Observation)
    offset: int = 0
    _rest: bytes = b""
    _skipping: bool = False

    def read_new(self, *, last: bool = False) -> None:
        """Take in the lines that are complete by now (`last`: all), and keep none of them."""
        for _ in self.events(last=last):
            pass

    def events(self, *, last: bool = False) -> Iterator[Event]:
        """Yield the events of the lines that are complete by now (`last`: of all)."""
        try:
            with self.path.open("rb") as file:
                file.seek(self.offset)
                while chunk := file.read(CHUNK_BYTES):
                    self.offset += len(chunk)
                    yield from self._feed(chunk)
        except FileNotFoundError:
            return
        if last and not self._skipping:
            rest, self._rest = self._rest, b""
            yield from self._line(rest)

    def _feed(self, chunk: bytes) -> Iterator[Event]:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            if self._skipping:
                self._skipping = False
            else:
                yield from self._line(line)
        if len(self._rest) > LONGEST_LINE_BYTES:
            self._skipping, self._rest = True, b""

    def _line(self, line: bytes) -> tuple[Event, ...]:
        events = self.executor.read_line(line) if line.strip() else ()
        for event in events:
            self.seen = self.seen.after(event)
        return events


def read_tail(path: Path) -> str:
    """Return the last 8 KiB of a file, undecodable bytes replaced; empty if there is none."""
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - TAIL_BYTES))
            return file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
