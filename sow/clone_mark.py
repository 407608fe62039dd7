"""The mark in the git folder of a task's clone, as every command reads it: whose clone it is.

Owns the mark's form and the search for it. Every command passes through here,
so this imports next to nothing; what writes marks is `sow.clones.mark`.
"""

import os
from typing import NamedTuple

from sow.errors import StateError

MARK_PLACE = ".git/sow/clone.json"
LARGEST = 1 << 20
"""A mark names the files that were copied, so it may be long."""


class CloneMark(NamedTuple):
    """What a clone says of itself. After its agent has run, all of it is the agent's word."""

    workspace: str
    """The root of the workspace whose task is done here; every command acts on that one."""
    checkout: str
    """The id of the checkout that the clone was made of."""
    project: str
    task: str
    branch: str
    base: str
    path: str
    """Where the clone was made; elsewhere it is a copy, or was moved."""
    stage: str
    copied: tuple[str, ...] = ()
    """The files that `clones.copy` has brought, relative to the clone's top."""


class DamagedMark(StateError):
    """There is a mark, and it cannot be read."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{path} does not say whose clone this is: it is damaged",
            hint="Set SOW_ROOT to the folder that holds .sow, or remove the clone"
            " (`sow clone remove TASK` in the repository) and let sow make it again.",
        )


class StrayClone(StateError):
    """A clone lies elsewhere than where it was made, so it may not act for its task."""

    def __init__(self, folder: str, mark: CloneMark) -> None:
        is_copy = os.path.isdir(mark.path)  # noqa: PTH112 - every command imports this
        did = "is a copy of" if is_copy else "was moved away from its place; it is"
        back = "" if is_copy else f" Move it back to {mark.path}, or"
        super().__init__(
            f"{folder} {did} the clone of task {mark.task} of {mark.workspace}",
            hint=f"{back.strip()}{' set' if back else 'Set'} SOW_ROOT={mark.workspace} to act on"
            f" that workspace from here; without {folder}/{MARK_PLACE} this is a repository of"
            " its own.",
        )


class WorkspaceOfCloneGone(StateError):
    """The workspace that a clone belongs to is not where it was."""

    def __init__(self, folder: str, mark: CloneMark) -> None:
        super().__init__(
            f"{folder} is the clone of task {mark.task} of {mark.workspace}, where no .sow is now",
            hint="If that repository was moved, set SOW_ROOT to its new place.",
        )


def read_mark(top: str) -> CloneMark | None:
    """Return the mark of the clone whose top is `top`; None for any other folder.

    Raises DamagedMark.
    """
    path = f"{top}/{MARK_PLACE}"
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        data = os.read(descriptor, LARGEST)
    except OSError:
        raise DamagedMark(path) from None
    finally:
        os.close(descriptor)
    mark = _parsed(data)
    if mark is None:
        raise DamagedMark(path)
    return mark


def _parsed(data: bytes) -> CloneMark | None:
    import json  # only a clone has a mark

    try:
        fields = json.loads(data)
        copied = tuple(fields.pop("copied", ()))
        mark = CloneMark(**fields, copied=copied)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    return mark if all(isinstance(value, str) for value in (*mark[:-1], *copied)) else None


def workspace_of_clone(cwd: str) -> str | None:
    """Return the root of the workspace that owns the clone in which `cwd` lies; None outside.

    Raises DamagedMark, StrayClone, WorkspaceOfCloneGone.
    """
    folder = cwd
    while True:
        mark = read_mark(folder)
        if mark is not None:
            return _owner(folder, mark)
        above = os.path.dirname(folder)  # noqa: PTH120
        if above == folder:
            return None
        folder = above


def _owner(folder: str, mark: CloneMark) -> str:
    try:
        in_place = os.path.samefile(folder, mark.path)  # noqa: PTH121
    except (OSError, ValueError):
        in_place = False
    if not in_place:
        raise StrayClone(folder, mark)
    if not os.path.isdir(f"{mark.workspace}/.sow"):  # noqa: PTH112
        raise WorkspaceOfCloneGone(folder, mark)
    return mark.workspace
