"""Which sow may read a state file, and the folder `.sow` as a whole.

Owns the number of the files' form and its check. `.sow/.version` tells for the
folder; a state file that holds something newer than the first form says so
itself, in its key `version`, since files travel singly between branches and
people. Neither is raised before something newer is written: an upgrade alone
locks nobody out. Without either it is the first form.
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from msgspec import UNSET

from sow.errors import StateError
from sow.files import locked_folder, read_regular, write_atomically
from sow.paths import SOW_FOLDER, Workspace, path_at
from sow.state.kept.store import root_of
from sow.state.state_errors import NewerState
from sow.unchanged_files import unchanged

FIRST_VERSION = 1
SCHEMA_VERSION = 2
"""The newest form that this sow reads and writes."""
SINCE: Mapping[str, int] = {
    **{f"task.{name}": 2 for name in ("clone", "checks", "check", "review", "merged")},
    **{f"task.{name}": 2 for name in ("key", "priority", "requires", "session.type")},
    **{f"project.{name}": 2 for name in ("inputs", "outputs", "feedback", "type", "state")},
    **{f"project.{name}": 2 for name in ("iteration", "finished_phases", "plan", "units")},
    **{f"project.{name}": 2 for name in ("review", "check", "ending")},
}
"""The fields that came after the first form, each with the number of its form, as
`{"task.review": 2}`. Such a field is UNSET where a file does not have it."""

VERSION_FILE = ".version"
VERSION_LIMIT = 4096
"""It holds one number."""
VERSION_KEY = b"version:"
VERSION_DIGITS = 9


def check_version(workspace: Workspace) -> None:
    """Raise NewerState if a later sow has written this folder; StateError if nobody can tell."""
    path = path_at(f"{workspace.sow}/{VERSION_FILE}")
    number = folder_version(path)
    if number > SCHEMA_VERSION:
        raise NewerState(path, str(number), SCHEMA_VERSION)


def folder_version(path: Path) -> int:
    """Return the number in `.version`. Raises NewerState for a word, StateError for a conflict."""
    return unchanged(lambda: _number_in(path), str(path))


def _number_in(path: Path) -> int:
    try:
        text = read_regular(path, VERSION_LIMIT).decode("utf-8", "replace").strip()
    except FileNotFoundError:
        return FIRST_VERSION
    if text.isdecimal():
        return int(text)
    if text.startswith("<<<<<<<"):
        raise StateError(
            f"{path} has no version number: {text[:40]!r}",
            hint="It must contain only one number. If a merge has left two, keep the higher"
            " one; `sow validate --fix` does this.",
        )
    raise NewerState(path, text, SCHEMA_VERSION)


def refuse_newer(path: Path, text: bytes) -> None:
    """Raise NewerState if `text`, the bytes of a state file, says that it is of a later form."""
    if file_version(text) > SCHEMA_VERSION:
        raise NewerState(path, str(file_version(text)), SCHEMA_VERSION)


def file_version(text: bytes) -> int:
    """Return the form that a state file says it has."""
    return version_line(text)[1]


def version_line(text: bytes) -> tuple[int, int]:
    """Return the line, from 1, in which a state file says which form it has, and that form.

    The first line and the first form where none says so.
    """
    lines = text.split(b"\n") if VERSION_KEY in text else []
    for at, line in enumerate(lines, 1):
        if line.startswith(VERSION_KEY):
            number = line[len(VERSION_KEY) :].partition(b"#")[0].removesuffix(b"\r").strip(b" \t")
            if number.isdigit() and len(number) <= VERSION_DIGITS:
                return at, int(number)
    return 1, FIRST_VERSION


def needed_version(state: object) -> int:
    """Return the earliest form that has all that `state`, the whole of a file, holds."""
    used = [number for field, number in SINCE.items() if _has(state, field)]
    return max(used, default=FIRST_VERSION)


def _has(state: object, field: str) -> bool:
    for name in _names_in(field):
        state = getattr(state, name, UNSET)
        if state is UNSET:
            return False
    return True


@lru_cache
def _names_in(field: str) -> list[str]:
    return field.split(".")


def raise_version(path: Path, number: int) -> None:
    """Have `.version` say that the folder of a state file holds form `number`, or a later one.

    It is never lowered. Raises NotWritten, StateLocked.
    """
    root = root_of(path)
    if root is None:
        return
    folder = root / SOW_FOLDER
    file = folder / VERSION_FILE
    if folder_version(file) >= number:  # as it mostly is
        return
    with locked_folder(folder):
        if folder_version(file) < number:
            write_atomically(file, f"{number}\n".encode())
