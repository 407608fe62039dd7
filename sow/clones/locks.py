"""The lock of one task's clone: whoever makes, sets up or removes it holds it meanwhile.

Owns the lock's file, which lies beside the clone, and the names of everything
that lies there only while it is held: drafts, and what is being removed.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sow.errors import StateError
from sow.files import NotWritten
from sow.files.flock import take_lock_file

if TYPE_CHECKING:
    from sow.clones.place import Place

LOCK_SECONDS = 600.0
"""How long a second maker waits for the first: a clone and its setup take minutes."""
SHORT_SECONDS = 10.0
"""How long others wait."""
Ask = Callable[[str], None]
"""Called with a task's id under its clone's lock; raises where a job is at work there."""
DRAFT = ".draft-"
GONE = ".gone-"
FOLDER_MODE = 0o700
"""Copied files may hold keys: nobody else's business."""


class CloneLocked(StateError):
    """Another process makes or removes the clone."""

    passes = True

    def __init__(self, place: "Place", seconds: float) -> None:
        super().__init__(
            f"the clone of task {place.task} is in use by another process that creates or"
            f" removes it (sow waited {seconds:g} s)",
            hint=f"Try again later. `fuser {lock_file(place.path)}` prints the id of that process.",
        )


class LinkedFolder(StateError):
    """A folder of clones is a link: what lies in it is somebody else's."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} is a symbolic link where sow expects its folder of clones, so sow changed"
            " nothing in it",
            hint="Check where it points, and remove the link. sow creates the clones again from"
            " their branches.",
        )


def refuse_links_above(path: Path) -> None:
    """Raise LinkedFolder where a clone's place is led elsewhere by the folders sow makes for it.

    Those are two: the checkout's and the project's. Agents may write there.
    """
    for folder in (path.parent, path.parent.parent):
        if folder.is_symlink():
            raise LinkedFolder(folder)


def lock_file(path: Path) -> Path:
    """Return the file whose `flock` is the lock of the clone at `path`."""
    return path.with_name(f".lock-{path.name}")


@contextmanager
def locked_place(place: "Place", *, timeout_seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold the lock of a task's clone for the length of the block; make the folders above it.

    It ends with the process, and is not handed on to what that starts. It is not
    re-entrant. Raises CloneLocked, LinkedFolder, NotWritten.
    """
    refuse_links_above(place.path)
    try:
        place.path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    except OSError as error:
        raise NotWritten(place.path.parent, error) from error
    descriptor = take_lock_file(lock_file(place.path), timeout_seconds)
    if descriptor is None:
        raise CloneLocked(place, timeout_seconds)
    try:
        yield
    finally:
        os.close(descriptor)


def draft_path(path: Path) -> Path:
    """Return a new place for a clone that is being made."""
    return path.with_name(f"{DRAFT}{path.name}-{os.urandom(4).hex()}")


def gone_path(path: Path) -> Path:
    """Return a new place for a clone that is being removed."""
    return path.with_name(f"{GONE}{path.name}-{os.urandom(4).hex()}")


def unfinished(path: Path) -> list[Path]:
    """Return the drafts and the half-removed that lie beside a clone.

    Under its lock they are those of processes that have died.
    """
    try:
        names = sorted(os.listdir(path.parent))  # noqa: PTH208 - a text is what is wanted
    except OSError:
        return []
    beginnings = (f"{DRAFT}{path.name}-", f"{GONE}{path.name}-")
    return [path.with_name(name) for name in names if name.startswith(beginnings)]
