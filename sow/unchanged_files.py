"""What was found in files that hardly ever change: while they stand still nobody reads them again.

Owns when that may be. What was found stands for a file, or for the names in a folder, as long as
that is the same one, unchanged: the same device, inode, size, and times of change. Both times come
from the file system's clock, which ticks; so what had changed within the last `SETTLED_SECONDS`
when it was looked at is read again. Only a process that reads the same again and again has use of
it, and says so (`remember`); any other one reads. Imports next to nothing: every command passes
through here.
"""

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    T = TypeVar("T")
    Facts = tuple[int, ...]

SETTLED_SECONDS = 2
"""How long a file has to be unchanged: FAT, the slowest, counts in steps of two seconds."""
MOST = 64
"""So much is remembered; what was found first is forgotten first."""


class Memory:
    """What a process remembers. `clock` gives the time in nanoseconds since the epoch."""

    def __init__(self, clock: "Callable[[], int]" = time.time_ns) -> None:
        self._clock = clock
        self._below: tuple[str, ...] = ()
        self._found: dict[tuple[str, ...], tuple[tuple[Facts, ...], Any]] = {}

    def remember(self, *folders: str) -> None:
        """Remember from now on what is found below some folders.

        No other machine may write there: this one may be told of it late.
        """
        self._below = tuple(f"{folder}/" for folder in folders)

    def unchanged(self, find: "Callable[[], T]", *paths: str) -> "T":
        """Return what `find` finds at some paths, or has found there if none has changed since.

        Nobody may change what is returned. Where nothing lies at a path, nothing is remembered.
        Raises what `find` does.
        """
        if not self._below or not all(path.startswith(self._below) for path in paths):
            return find()
        try:
            facts = tuple(facts_at(path) for path in paths)
        except OSError:
            return find()
        known = self._found.get(paths)
        if known is not None and known[0] == facts:
            found: T = known[1]
            return found
        found = find()
        if max(max(each[-2:]) for each in facts) < self._clock() - SETTLED_SECONDS * 10**9:
            self._add(paths, facts, found)
        return found

    def _add(self, paths: tuple[str, ...], facts: "tuple[Facts, ...]", found: object) -> None:
        """Remember what was found; other threads may do so as well."""
        while len(self._found) >= MOST:
            self._found.pop(next(iter(self._found)), None)
        self._found[paths] = facts, found


OURS = Memory()
remember, unchanged = OURS.remember, OURS.unchanged


def facts_at(path: str) -> "Facts":
    """Return what tells a file from any other and from what it was. Raises OSError."""
    facts = os.stat(path)  # noqa: PTH116 - no pathlib here
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns
