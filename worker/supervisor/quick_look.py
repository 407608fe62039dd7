"""A supervisor's own look at what an agent has made, where that is quickly looked at.

To start the program that searches the work (`worker.steps.scan`) costs many times what such a look
does, and most agents leave no secret anywhere. So in a checkout the supervisor itself looks at the
files that have changed since the agent began. Where none of them has a value, and nothing was
committed, there is nothing to be found and no program is started. Everything else that program has
to tell: it knows which files git ignores, and what is in commits.

A file has changed if its inode has (inode(7), `st_ctime`): nobody can set that time. A folder that
was moved keeps the times of what is in it, so of one that may have come from elsewhere all files
count. Owns this rule and the bounds of the look. Only supervisors of agents with secrets import it.
"""

import os
import stat
import time

from sow.blanking import Blanker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_ENTRIES = 10_000
MOST_BYTES = 1 << 24
"""Of a larger tree, and of more that has changed, the program tells."""
PIECE_BYTES = 1 << 20
CLOCK_SECONDS = 1.0
"""A file's time may lie a little before that of the clock."""
MARK_BYTES = 1 << 16
GIT = b".git"
READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
NUMBER_OF_FOLDERS = 4


class TooMuch(Exception):
    """More has to be looked at than is quickly done."""


class QuickLook:
    """What is to be looked at, and how it was before the agent began."""

    def __init__(self, orders: "Sequence[bytes]", now: float) -> None:
        """Take the orders of `pack_look`, and note how things stand; `now` is the clock's time."""
        self._tree, self._task, *skipped = orders[:NUMBER_OF_FOLDERS]
        self._skipped = frozenset(skipped)
        self._marks = orders[NUMBER_OF_FOLDERS:]
        self._before = [_content(mark) for mark in self._marks]
        self._since = now - CLOCK_SECONDS
        self._offset = time.time() - time.monotonic()
        self._entries = self._bytes = 0

    def is_clean(self, blanker: Blanker) -> bool:
        """Whether no value of `blanker` is in the work; False also where that cannot be told."""
        is_clock_set = abs(time.time() - time.monotonic() - self._offset) > CLOCK_SECONDS / 2
        if is_clock_set or [_content(mark) for mark in self._marks] != self._before:
            return False
        try:
            found = any(
                self._has_value(path, blanker)
                for top, whole in ((self._task, True), (self._tree, False))
                if top
                for path in self._changed(top, whole=whole)
            )
        except (OSError, TooMuch):
            return False
        return not found

    def _changed(self, top: bytes, *, whole: bool) -> "Iterator[bytes]":
        """Yield the files below a folder that have changed; with `whole` all of them."""
        folders = [(top, whole)]
        while folders:
            folder, whole = folders.pop()
            has_news = os.stat(folder).st_ctime >= self._since  # noqa: PTH116 - an entry came
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._entries += 1
                    if self._entries > MOST_ENTRIES:
                        raise TooMuch
                    facts = entry.stat(follow_symlinks=False)
                    is_new = whole or facts.st_ctime >= self._since
                    if stat.S_ISREG(facts.st_mode):
                        if is_new:
                            yield entry.path
                    elif stat.S_ISDIR(facts.st_mode) and not self._is_skipped(entry):
                        folders.append((entry.path, whole or (is_new and has_news)))

    def _is_skipped(self, entry: "os.DirEntry[bytes]") -> bool:
        return entry.name == GIT or entry.path in self._skipped

    def _has_value(self, path: bytes, blanker: Blanker) -> bool:
        """Whether a value is in a file or its path; one that cannot be opened git cannot take."""
        if blanker.names_in(path):
            return True
        try:
            descriptor = os.open(path, READING)
        except OSError:
            return False
        kept = b""
        try:
            while piece := os.read(descriptor, PIECE_BYTES):
                self._bytes += len(piece)
                if self._bytes > MOST_BYTES:
                    raise TooMuch
                data = kept + piece
                if blanker.names_in(data):
                    return True
                kept = data[-blanker.longest :]
        finally:
            os.close(descriptor)
        return False


def pack_look(
    tree: str, task: str, run: str, project: str, marks: "Sequence[str]"
) -> "Sequence[str]":
    """Return the orders of a look.

    `tree` is the checkout's top, or nothing without git. `task` is the task's folder, all of which
    is looked at. `run` and `project` are folders that no work is in. `marks` are the files that say
    what is committed.
    """
    return (tree, task, run, project, *marks)


def _content(path: bytes) -> bytes | None:
    """Return what a file of git's holds; None where there is none."""
    try:
        descriptor = os.open(path, READING)
    except OSError:
        return None
    try:
        return os.read(descriptor, MARK_BYTES)
    finally:
        os.close(descriptor)
