"""What tells the work of a whole checkout from another: its files' contents, `.sow` left out.

A commit changes nothing of that where it holds what lay there before, so a
verdict on the whole outlives being committed itself. Which files differ from the
commit is git's word, by the repository's own filters; what git was told not to
look at is looked at all the same. Runs no hook.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from hashlib import new as new_hash
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from sow.errors import SowError
from sow.git.repository import format_of, repository_of
from sow.git.run import LONG_SECONDS
from sow.git.view import View, view_of
from sow.paths import SOW_FOLDER

NO_FILE = b""
CHUNK = 1 << 20
"""How much of a file is held at once: what agents leave behind may be larger than the memory."""
SKIPPED = b"S"
"""How `git ls-files -v` marks a file that is not checked out, as in a sparse checkout."""


class Work(NamedTuple):
    """The work in a checkout at one moment."""

    top: Path
    own: bytes
    """Where `.sow` lies, from the top."""
    files: Mapping[bytes, bytes]
    """Mode and blob of each file, from the top."""

    @property
    def content(self) -> str:
        """What tells it from other work."""
        whole = sha256()
        for path in sorted(self.files):
            if self.files[path] and path != self.own and not path.startswith(self.own + b"/"):
                whole.update(path + b"\0" + self.files[path] + b"\0")
        return whole.hexdigest()

    def after_move(self, source: Path, target: Path) -> "Work":
        """Return the work as it is with a file at `target`, where it lies already, alone."""
        before, after = (os.fsencode(os.path.relpath(path, self.top)) for path in (source, target))
        found = _on_disk(os.fsencode(target), self.files.get(before, NO_FILE))
        return self._replace(files={**self.files, before: NO_FILE, after: found})


def work_of(root: Path) -> str:
    """Return what tells the work in a checkout from another; empty where there is no git.

    Raises GitRefused.
    """
    work = work_in(root)
    return work.content if work is not None else ""


def work_in(root: Path) -> Work | None:
    """Return the work in a checkout; None where there is no git. Raises GitRefused."""
    try:
        top = repository_of(root).top
    except SowError:
        return None
    own = os.path.relpath(os.path.realpath(root / SOW_FOLDER), top)
    view = view_of(top)
    files = _committed(view)
    for path in _changed(view):
        files[path] = _on_disk(os.fsencode(top) + b"/" + path, files.get(path, NO_FILE))
    return Work(top, os.fsencode(own), files)


def _committed(view: View) -> dict[bytes, bytes]:
    """Return mode and blob of each file in the commit that is checked out."""
    if view.commit_of("HEAD") is None:
        return {}
    found = {}
    for row in _rows(view, "ls-tree", "-r", "-z", "--full-tree", "HEAD"):
        facts, _, path = row.partition(b"\t")
        mode, _, blob = facts.split(b" ")
        found[path] = mode + b" " + blob
    return found


def _rows(view: View, *words: str) -> list[bytes]:
    return [row for row in view.raw(*words, seconds=LONG_SECONDS).split(b"\0") if row]


def _changed(view: View) -> Iterator[bytes]:
    """Yield the files that differ from that commit, are not in it, or that git does not look at."""
    words = ("status", "--porcelain", "-z", "-uall", "--no-renames", "--ignore-submodules=none")
    yield from (row[3:] for row in _rows(view, *words))
    for row in _rows(view, "ls-files", "-v", "-z"):
        mark, path = row[:1], row[2:]
        is_hidden = mark.islower() or mark == SKIPPED  # `git update-index --assume-unchanged`
        if is_hidden and (
            mark != SKIPPED or os.path.lexists(os.fsencode(view.folder) + b"/" + path)
        ):
            yield path


def _on_disk(path: bytes, committed: bytes) -> bytes:
    """Return mode and blob of a file as it lies there; nothing where it is gone."""
    algorithm = format_of(committed.partition(b" ")[2].decode())
    try:
        facts = os.lstat(path)
        if stat.S_ISLNK(facts.st_mode):
            target = os.readlink(path)  # noqa: PTH115
            return b"120000 " + _blob([target], len(target), algorithm)
        if not stat.S_ISREG(facts.st_mode):
            return b"other"
        mode = b"100755 " if facts.st_mode & 0o100 else b"100644 "
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            size = os.fstat(descriptor).st_size
            return mode + _blob(_chunks(descriptor, size), size, algorithm)
        finally:
            os.close(descriptor)
    except OSError:
        return NO_FILE


def _chunks(descriptor: int, size: int) -> Iterator[bytes]:
    """Yield what a file holds, as far as it did when its size was asked for."""
    left = size
    while left and (part := os.read(descriptor, min(CHUNK, left))):
        yield part
        left -= len(part)


def _blob(parts: Iterable[bytes], size: int, algorithm: str) -> bytes:
    """Return the id that git gives such contents."""
    found = new_hash(algorithm, b"blob %d\0" % size, usedforsecurity=False)
    for part in parts:
        found.update(part)
    return found.hexdigest().encode()
