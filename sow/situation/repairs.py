"""What mends what could not be read: the file that a person opens, or where one is gone, gets back.

Owns what takes the place of a `state.yaml` that is missing: that of the last commit, else nothing,
and then the folder goes out of the way, where people can look through it.
"""

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from sow.errors import ConfigurationError, QueueError, SowError
from sow.files import NotAFile, read_regular
from sow.lifecycle.lifecycle_facts import Remedy
from sow.situation.situation import Situation
from sow.situation.step import EDITOR, RESTORE
from sow.state.state_errors import MissingState, ProjectWithoutState

MARK = b"<<<<<<< "
"""How git begins what one side has."""
LARGEST = 1 << 20
STATE = "state.yaml"
CONFLICT = "git has left the marks of a conflict in it: `sow validate` says what `--fix` can solve"


def repairs(now: Situation) -> Iterator[Remedy]:
    """Yield what repairs each file that cannot be read."""
    if not now.errors:
        return
    from shlex import quote  # nearly always all can be read

    for error in now.errors:
        if isinstance(error, MissingState | ProjectWithoutState):
            yield _without_state(error)
            continue
        path = file_of(error)
        if path is not None:
            why = CONFLICT if _has_marks(path) else in_short(error)
            yield Remedy(f"{EDITOR} {quote(os.path.relpath(path))}", why)
        elif isinstance(error, ConfigurationError):
            yield Remedy("sow config edit", in_short(error))
        elif isinstance(error, QueueError):
            yield Remedy(error.repair or "sow doctor", in_short(error))


def _without_state(error: MissingState | ProjectWithoutState) -> Remedy:
    """Return what brings a missing `state.yaml` back, else what takes its folder out of the way."""
    from shlex import quote  # as above

    is_project = isinstance(error, ProjectWithoutState)
    folder = error.path if is_project else error.path.parent
    state = quote(os.path.relpath(folder / STATE))
    whose = "the project" if is_project else f"task {folder.name}"
    if _is_committed(folder):
        why = f"the state.yaml of {whose} is gone, and the last commit has it"
        return Remedy(f"{RESTORE} {state}", why)
    above = folder.parent if is_project else folder.parents[3] / "context"
    target = _free_name(above / f"{folder.name}-without-state")
    room = "" if above.is_dir() else f"mkdir -p {quote(os.path.relpath(above))} && "
    named = f"{quote(os.path.relpath(folder))} {quote(os.path.relpath(target))}"
    why = f"the state.yaml of {whose} is gone, and no commit has it; what is left stays to be read"
    return Remedy(f"{room}mv {named}", why)


def _is_committed(folder: Path) -> bool:
    """Whether the last commit has the `state.yaml` of a folder."""
    from sow.git.run import git_answer  # as above

    try:
        return git_answer(folder, "cat-file", "-e", f"HEAD:./{STATE}")[0] == 0
    except SowError:
        return False


def _free_name(target: Path) -> Path:
    return next(
        found
        for number in count(1)
        if not os.path.lexists(
            found := target if number == 1 else target.with_name(f"{target.name}-{number}")
        )
    )


def _has_marks(path: Path) -> bool:
    """Whether git has left the marks of a conflict in a file, so that it is no YAML."""
    try:
        return any(line.startswith(MARK) for line in read_regular(path, LARGEST).splitlines())
    except (OSError, NotAFile):
        return False


def file_of(error: SowError) -> Path | None:
    """Return the file that is at fault, where it is one that can be edited."""
    path = getattr(error, "path", None)
    return path if isinstance(path, Path) and path.name.endswith(".yaml") else None


def in_short(error: SowError) -> str:
    """Return what is wrong, in a line."""
    return " ".join(error.message.split())
