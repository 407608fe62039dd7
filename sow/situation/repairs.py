"""What mends what could not be read: the file that a person, or a program of theirs, opens."""

import os
from collections.abc import Iterator
from pathlib import Path

from sow.errors import ConfigurationError, SowError
from sow.files import NotAFile, read_regular
from sow.lifecycle.remedy import Remedy
from sow.situation.situation import Situation
from sow.situation.step import EDITOR

MARK = b"<<<<<<< "
"""How git begins what one side has."""
LARGEST = 1 << 20
CONFLICT = "git has left the marks of a conflict in it: `sow validate` says what `--fix` can solve"


def repairs(now: Situation) -> Iterator[Remedy]:
    """Yield what mends each file that cannot be read."""
    if not now.errors:
        return
    from shlex import quote  # nearly always all can be read

    for error in now.errors:
        path = file_of(error)
        if path is not None:
            why = CONFLICT if _has_marks(path) else in_short(error)
            yield Remedy(f"{EDITOR} {quote(os.path.relpath(path))}", why)
        elif isinstance(error, ConfigurationError):
            yield Remedy("sow config edit", in_short(error))


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
