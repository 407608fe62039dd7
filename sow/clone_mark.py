"""The mark in the git folder of a task's clone, as every command reads it: whose clone it is.

Owns the mark's form, the search for it, and how far it is believed. Every command
passes through here, so this imports next to nothing; what writes marks is
`sow.clones.mark`.
"""

import os
import sys
from contextlib import suppress
from typing import Any, NamedTuple

from sow.errors import StateError

MARK_PLACE = ".git/sow/clone.json"
CHECKOUT_PLACE = "sow/checkout.json"
"""Below a checkout's git folder; it holds the checkout's id, which its clones' places bear."""
LINKED = "gitdir: "
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


def read_mark(top: str) -> CloneMark | None:
    """Return the mark of the clone whose top is `top`; None for any other folder.

    Raises DamagedMark.
    """
    path = f"{top}/{MARK_PLACE}"
    try:
        data = _start_of(path, LARGEST)
    except OSError:
        raise DamagedMark(path) from None
    if data is None:
        return None
    mark = _parsed(data)
    if mark is None:
        raise DamagedMark(path)
    return mark


def _start_of(path: str, limit: int) -> bytes | None:
    """Return how a file begins; None where none can be opened. Never waits. Raises OSError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(descriptor, limit)
    finally:
        os.close(descriptor)


def _decoded(data: bytes) -> Any:
    """Return what JSON says: read by msgspec where this process has imported that already."""
    if "msgspec" in sys.modules:
        from msgspec import json as quick  # it is here; `json` takes 2 ms

        with suppress(ValueError):  # names of files that are no UTF-8
            return quick.decode(data)
    import json  # only a clone has a mark

    return json.loads(data)


def _parsed(data: bytes) -> CloneMark | None:
    try:
        fields = _decoded(data)
        copied = tuple(fields.pop("copied", ()))
        mark = CloneMark(**fields, copied=copied)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    return mark if all(isinstance(value, str) for value in (*mark[:-1], *copied)) else None


def workspace_of_clone(cwd: str) -> str | None:
    """Return the root of the workspace that owns the clone in which `cwd` lies; None outside.

    Raises DamagedMark, StateError.
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
        is_copy = os.path.isdir(mark.path)  # noqa: PTH112 - every command imports this
        did = "is a copy of" if is_copy else "was moved away from its place; it is"
        back = "" if is_copy else f" Move it back to {mark.path}, or"
        raise StateError(
            f"{folder} {did} the clone of task {mark.task} of {mark.workspace}",
            hint=f"{back.strip()}{' set' if back else 'Set'} SOW_ROOT={mark.workspace} to act on"
            f" that workspace from here; without {folder}/{MARK_PLACE} this is a repository of"
            " its own.",
        )
    if not os.path.isdir(f"{mark.workspace}/.sow"):  # noqa: PTH112
        raise StateError(
            f"{folder} is the clone of task {mark.task} of {mark.workspace}, where no .sow is now",
            hint="If that repository was moved, set SOW_ROOT to its new place.",
        )
    if not _is_of_checkout(folder, _checkout_of(mark.workspace)):
        raise StateError(
            f"{folder} says that it is the clone of task {mark.task} of {mark.workspace}, which has"
            " made no clone there: its mark was changed, or another repository lies there now",
            hint="Set SOW_ROOT to the folder that holds the .sow that you mean.",
        )
    return mark.workspace


def _is_of_checkout(folder: str, checkout: str | None) -> bool:
    """Whether a folder lies where the checkout of an id has its clones made.

    That is `<repository>-<checkout>/<project>/<task>`, below whatever folder. By the mark
    alone an agent could lead a person's commands to another repository of theirs.
    """
    parts = os.path.realpath(folder).split("/")
    return checkout is not None and len(parts) > 3 and parts[-3].endswith(f"-{checkout}")


def _checkout_of(workspace: str) -> str | None:
    """Return the id of the checkout that a workspace lies in; None where it has none."""
    import json  # as above

    git_dir = _git_dir_above(os.path.realpath(workspace))
    try:
        data = _start_of(f"{git_dir}/{CHECKOUT_PLACE}", LARGEST)
        checkout = json.loads(data or b"")["id"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return checkout if isinstance(checkout, str) and checkout else None


def _git_dir_above(folder: str) -> str | None:
    """Return the git folder of the working tree that a folder lies in; None outside of any."""
    while True:
        place = f"{folder}/.git"
        if os.path.isdir(place):  # noqa: PTH112
            return place
        with suppress(OSError):
            words = os.fsdecode(_start_of(place, LARGEST) or b"")
            if words.startswith(LINKED):  # a working tree that `git worktree` has made
                named = words.removeprefix(LINKED).rstrip("\n")
                return os.path.join(folder, named)  # noqa: PTH118 - it may be a full path
        above = os.path.dirname(folder)  # noqa: PTH120
        if above == folder:
            return None
        folder = above
