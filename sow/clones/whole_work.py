"""What tells the work of a whole checkout from another: its files' contents, `.sow` left out.

A commit changes nothing of that where it holds what lay there before, so a
verdict on the whole outlives being committed itself. Runs no filter and no hook.
"""

import os
import stat
from collections.abc import Iterable, Mapping
from functools import partial
from hashlib import new as new_hash
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from sow.errors import SowError
from sow.git.repository import commit_of, repository_of
from sow.git.run import LONG_SECONDS, git_bytes
from sow.paths import SOW_FOLDER

NO_FILE = b""
PIECE = 1 << 20
"""How much of a file is held in memory at once, in bytes: some repositories hold large ones."""


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
    files = _committed(top)
    for path in _changed(top):
        files[path] = _on_disk(os.fsencode(top) + b"/" + path, files.get(path, NO_FILE))
    return Work(top, os.fsencode(own), files)


def _committed(top: Path) -> dict[bytes, bytes]:
    """Return mode and blob of each file in the commit that is checked out."""
    if commit_of(top, "HEAD") is None:
        return {}
    found = {}
    for row in git_bytes(
        top, "ls-tree", "-r", "-z", "--full-tree", "HEAD", seconds=LONG_SECONDS
    ).split(b"\0"):
        if row:
            facts, _, path = row.partition(b"\t")
            mode, _, blob = facts.split(b" ")
            found[path] = mode + b" " + blob
    return found


def _changed(top: Path) -> list[bytes]:
    """Return the files that differ from that commit, or are not in it."""
    words = ("status", "--porcelain", "-z", "-uall", "--no-renames", "--ignore-submodules=none")
    rows = git_bytes(top, *words, seconds=LONG_SECONDS).split(b"\0")
    return [row[3:] for row in rows if row]


def _on_disk(path: bytes, committed: bytes) -> bytes:
    """Return mode and blob of a file as it lies there; nothing where it is gone."""
    algorithm = "sha256" if len(committed.partition(b" ")[2]) == 64 else "sha1"
    try:
        facts = os.lstat(path)
        if stat.S_ISLNK(facts.st_mode):
            target = os.readlink(path)  # noqa: PTH115
            return b"120000 " + _blob([target], len(target), algorithm)
        if not stat.S_ISREG(facts.st_mode):
            return b"other"
        mode = b"100755 " if facts.st_mode & 0o100 else b"100644 "
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW  # nothing else is in its place by now
        with open(os.open(path, flags), "rb") as file:  # noqa: PTH123 - names can be any bytes
            size = os.fstat(file.fileno()).st_size
            return mode + _blob(iter(partial(file.read, PIECE), b""), size, algorithm)
    except OSError:
        return NO_FILE


def _blob(pieces: Iterable[bytes], size: int, algorithm: str) -> bytes:
    """Return the id that git gives such contents."""
    found = new_hash(algorithm, b"blob %d\0" % size, usedforsecurity=False)
    for piece in pieces:
        found.update(piece)
    return found.hexdigest().encode()
