"""The mark in a clone's git folder, written: whose clone it is, and how far it is made.

The form of a mark and its light reading are `sow.clone_mark`. Owns the stages, and what lies in a
clone's place.
"""

import os
import stat
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from sow.clone_mark import MARK_PLACE, CloneMark, DamagedMark, read_mark
from sow.clones.place import Place
from sow.files import write_atomically


class Stage(StrEnum):
    """How far a clone is made."""

    MADE = "made"
    """It is checked out. Files may not be copied yet, and it is not set up."""
    WHOLE = "whole"
    """An agent may work in it."""


def write_mark(top: Path, mark: CloneMark) -> None:
    """Write the mark of the clone whose top is `top`. Raises NotWritten."""
    from json import dumps  # only who makes a clone writes its mark

    path = top / MARK_PLACE
    path.parent.mkdir(exist_ok=True)
    write_atomically(path, dumps(mark._asdict()).encode() + b"\n")


def mark_for(place: Place, base: str) -> CloneMark:
    """Return the mark of a clone that has just been checked out for a place."""
    return CloneMark(
        workspace=os.fsdecode(place.workspace),
        checkout=place.checkout,
        project=place.project,
        task=place.task,
        branch=place.branch,
        base=base,
        path=os.fsdecode(place.path),
        stage=Stage.MADE,
    )


def own_mark(place: Place) -> CloneMark | None:
    """Return the mark of what lies at a place, if that is a clone of ours for this task.

    None for everything else: nothing, another repository, what `mark_at` takes for none.
    """
    mark = mark_at(place.path, place.checkout)
    return mark if mark and (mark.project, mark.task) == (place.project, place.task) else None


def mark_at(path: Path, checkout: str) -> CloneMark | None:
    """Return the mark of a clone of a checkout that lies where it was made.

    None for a link, a clone whose git folder is a link or a file, and a damaged mark.
    """
    if not all(map(is_real_folder, (path, path / ".git", path / ".git" / "sow"))):
        return None
    with suppress(DamagedMark):
        mark = read_mark(os.fsdecode(path))
        if mark is not None and (mark.checkout, mark.path) == (checkout, os.fsdecode(path)):
            return mark
    return None


def is_real_folder(path: Path) -> bool:
    """Whether a folder lies there, and no link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


class CloneState(StrEnum):
    """What lies in a clone's place."""

    WHOLE = "whole"
    UNFINISHED = "unfinished"
    """It is being made or set up, or whoever did that has died."""
    MISSING = "missing"
    """A task that goes on had one; the next spawn or resume makes it again."""
    STRANGE = "strange"
    """Something that is not the clone that sow has made."""


def state_of(place: Place) -> CloneState:
    """Return what lies in a clone's place."""
    mark = own_mark(place)
    if mark is not None:
        return CloneState.WHOLE if mark.stage == Stage.WHOLE else CloneState.UNFINISHED
    return CloneState.STRANGE if os.path.lexists(place.path) else CloneState.MISSING
