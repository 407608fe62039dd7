"""What an agent prints, read as it grows, a bounded while at a time.

Owns the position in the file and the folding of events. Knows nothing of jobs.
An agent may print faster than anybody can read: each look reads for a while
that its caller sets, and says by `is_behind` that there is more.
"""

import math
import os
import time
from contextlib import suppress
from pathlib import Path

from sow.errors import StateError
from sow.executors.base import Executor, Observation
from sow.executors.lines import WholeLines
from sow.files import open_regular

CHUNK_BYTES = 1 << 16
"""How much is read between two looks at the clock: some milliseconds of the costliest lines."""
LONGEST_BACKLOG_BYTES = 4 << 30
"""What an attempt that has ended left unread beyond this is skipped: its last lines tell its end,
and a file may claim to hold a million times as much."""


class OutputReader:
    """Reads the lines that a file has gained since the last look."""

    def __init__(self, path: Path, executor: Executor | None) -> None:
        """`executor` reads the lines; without one they tell nothing."""
        self.path = path
        self.executor = executor
        self.seen = Observation()
        self.offset = 0
        self.is_behind = False
        """Whether the last look ended before what there is to read did."""
        self._lines = WholeLines()
        self._end: int | None = None

    def read_for(self, seconds: float) -> None:
        """Take in the lines that are complete by now, for `seconds` and the rest of a chunk."""
        deadline = time.monotonic() + seconds
        self.is_behind = False
        try:
            descriptor = open_regular(self.path)
        except (OSError, StateError):  # not there yet, or no regular file: there is nothing to read
            return
        try:
            while chunk := os.pread(descriptor, self._step(), self.offset):
                self.offset += len(chunk)
                self._fold(self._lines.feed(chunk))
                if time.monotonic() >= deadline:
                    self.is_behind = self._step() > 0 and (
                        self.offset < os.fstat(descriptor).st_size
                    )
                    return
        finally:
            os.close(descriptor)

    def read_new(self, *, last: bool = False) -> None:
        """Take in all the lines that are complete by now (`last`: the unfinished one as well)."""
        self.read_for(math.inf)
        if last:
            self._fold(self._lines.take_rest())

    def ends_here(self) -> None:
        """Read no further than the file reaches now: what writes on is not the attempt."""
        if self._end is not None:
            return
        self._end = self.offset
        with suppress(OSError):
            self._end = max(self.offset, self.path.stat().st_size)
        if self._end - self.offset > LONGEST_BACKLOG_BYTES:
            self._lines.skip_line()
            self.offset = self._end - LONGEST_BACKLOG_BYTES

    def _step(self) -> int:
        """Return how much to read next, in bytes."""
        if self._end is None:
            return CHUNK_BYTES
        return min(CHUNK_BYTES, max(0, self._end - self.offset))

    def _fold(self, lines: bytes) -> None:
        if self.executor is None:
            return
        for event in self.executor.skim(lines):
            self.seen = self.seen.after(event)
