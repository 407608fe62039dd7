"""The files of two tasks that lie in one folder, or in two: which of them belong to whom.

Owns that division. Where both have a file of one name in one folder, git's
marks or git's history part it; a log that `merge=union` has put together is
parted the same way. What nobody can part both of them get.
"""

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from sow.errors import StateError
from sow.files import read_regular
from sow.schema.task import Task
from sow.state.log_writing import LOG_FILE
from sow.state.task_folder import STATE
from sow.validation.history import History
from sow.validation.marks import conflict_in
from sow.validation.reading import is_leftover
from sow.validation.records import file_of
from sow.validation.same_ids import Pair

LARGEST = 64 << 20


class Division(Struct, frozen=True):
    """What each of the two gets."""

    theirs: Mapping[str, bytes]
    """Their files, by their names below the folder."""
    ours: Mapping[str, bytes]
    """The files of the shared folder that are to be written anew."""
    gone: Sequence[str] = ()
    """The files of the shared folder that are theirs alone."""


def divide(pair: Pair, history: History) -> Division:
    """Return what is whose. Raises NotAFile, StateError."""
    present = _files_in(pair.their_folder)
    if not pair.is_in_conflict:
        return Division(present, {})
    sides = pair.sides
    mine = history.files_in(sides.ours, pair.our_folder) if sides and sides.ours else {}
    its = history.files_in(sides.theirs, pair.our_folder) if sides else {}
    theirs: dict[str, bytes] = {}
    ours: dict[str, bytes] = {STATE: pair.our_text}
    gone: list[str] = []
    for name, data in present.items():
        if name == STATE:
            continue
        conflict = conflict_in(data)
        if name == LOG_FILE:
            theirs[name], ours[name] = _logs(data, mine.get(name), its.get(name), history)
        elif conflict is not None:
            theirs[name], ours[name] = conflict.theirs, conflict.ours
        elif name in its and name not in mine:
            theirs[name] = data
            gone.append(name)
        elif name in its:
            theirs[name] = its[name]
        elif not its and _is_theirs(name, pair.theirs, pair.ours):
            theirs[name] = data
            gone += [] if _is_theirs(name, pair.ours, pair.theirs) else [name]
    return Division(
        theirs, {name: ours[name] for name in ours if ours[name] != present[name]}, gone
    )


def _is_theirs(name: str, task: Task, other: Task) -> bool:
    """Whether a task has a file, by the word of its state alone: feedback that no other names."""
    folder, _, file = name.rpartition("/")
    if folder != "feedback":
        return True
    named, others = ({file_of(entry) for entry in each.feedback} for each in (task, other))
    return file in named or file not in others


def _logs(
    data: bytes, mine: bytes | None, its: bytes | None, history: History
) -> tuple[bytes, bytes]:
    """Return their log and ours, of one that holds both."""
    conflict = conflict_in(data)
    if conflict is not None:
        return conflict.theirs, conflict.ours
    if mine is None or its is None:
        return (data if its is None else its), data
    together = history.union(mine, its)
    if together is not None and data.startswith(together):
        return its, mine + data[len(together) :]
    return its, data


def _files_in(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder, by their names. Raises NotAFile, StateError."""
    found: dict[str, bytes] = {}
    for parent, _, files in os.walk(folder):
        for name in files:
            path = Path(parent, name)
            if is_leftover(path, False):
                continue
            if not stat.S_ISREG(path.lstat().st_mode):
                raise StateError(f"{path} is not a file", hint="Move it away, then try again.")
            found[path.relative_to(folder).as_posix()] = read_regular(path, LARGEST)
    return found
