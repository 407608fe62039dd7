"""How much some folders hold on the disk, counted a little at a time.

Owns how often that is worth a look. What the file system has given out since the last count says
for nothing whether a folder may have grown beyond its limit; so an agent that writes little is
counted once a minute, and one that may be beyond it at once. A slice is short, because its caller
is a supervisor that has to hear signals. Light: the supervisor runs on it, for an attempt with such
a limit alone.

A file counts with the blocks that it has, so a sparse one by what is written of it, and in shares
where it has several names: a clone's objects may be the main repository's. What is deleted and
still open, or lies where we may not read, is not seen.
"""

import os
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BLOCK_BYTES = 512
"""The unit of st_blocks (stat(3type))."""
CALM_SECONDS, HURRIED_SECONDS = 0.005, 0.1
"""How long a slice takes; the second where the limit may be reached by now. A file takes 4 µs."""
REST_SECONDS = 60.0
"""How long a count is good enough while nothing speaks for much more."""
AT_ONCE = 64
"""How many files are counted between two looks at the clock."""


class DiskUse:
    """What some folders hold."""

    def __init__(self, folders: "Sequence[str]", limit: int) -> None:
        self._folders = folders
        self._limit = limit
        self.size = 0
        """What the last whole count has found, in bytes."""
        self._counted_at = -REST_SECONDS
        self._given_before = 0
        """What the file system had given out when the last whole count began."""
        self._given_now = 0
        self._count: Iterator[int] | None = None
        self._sum = 0

    def is_over(self, now: float) -> bool:
        """Count on for a slice; return whether they hold more than they may. `now` is monotonic."""
        grown, left = given_out(self._folders) - self._given_before, self._limit - self.size
        if self._count is None:
            if now - self._counted_at < REST_SECONDS and grown * 4 < left:
                return False
            self._count, self._sum = sizes(self._folders), 0
            self._given_now = self._given_before + grown
        deadline = time.monotonic() + (HURRIED_SECONDS if grown >= left else CALM_SECONDS)
        for number, size in enumerate(self._count, 1):
            self._sum += size
            if self._sum > self._limit:
                return self._is_sure()
            if number % AT_ONCE == 0 and time.monotonic() >= deadline:
                return False
        self._conclude(self._sum, now)
        return False

    def _is_sure(self) -> bool:
        """Count once more in one go: what was moved during a long count may have counted twice."""
        self._given_now = given_out(self._folders)
        self._conclude(sum(sizes(self._folders)), time.monotonic())
        return self.size > self._limit

    def _conclude(self, size: int, now: float) -> None:
        self.size, self._counted_at = size, now
        self._given_before, self._count = self._given_now, None


def sizes(folders: "Sequence[str]") -> "Iterator[int]":
    """Yield the bytes of each file and folder in some folders; no link is followed."""
    waiting = [*folders]
    while waiting:
        try:
            entries = os.scandir(waiting.pop())
        except OSError:  # it is gone, or not for us to read
            continue
        with entries:
            yield from _sizes_in(entries, waiting)


def _sizes_in(entries: "Iterator[os.DirEntry[str]]", waiting: list[str]) -> "Iterator[int]":
    for entry in entries:
        try:
            facts = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        size = facts.st_blocks * BLOCK_BYTES
        if stat.S_ISDIR(facts.st_mode):
            waiting.append(entry.path)
            yield size
        else:
            yield size // max(1, facts.st_nlink)


def given_out(folders: "Sequence[str]") -> int:
    """Return the bytes that the file systems of some folders have given out, each one once."""
    found: dict[int, int] = {}
    for folder in folders:
        try:
            facts = os.statvfs(folder)
        except OSError:
            continue
        found[facts.f_fsid] = (facts.f_blocks - facts.f_bfree) * facts.f_frsize
    return sum(found.values())
