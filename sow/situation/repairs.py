"""What mends what could not be read: the file that a person, or a program of theirs, opens."""

import os
from collections.abc import Iterator
from pathlib import Path

from sow.errors import ConfigurationError, SowError
from sow.lifecycle.remedy import Remedy
from sow.situation.situation import Situation
from sow.situation.step import EDITOR


def repairs(now: Situation) -> Iterator[Remedy]:
    """Yield what mends each file that cannot be read."""
    if not now.errors:
        return
    from shlex import quote  # nearly always all can be read

    for error in now.errors:
        path = file_of(error)
        if path is not None:
            yield Remedy(f"{EDITOR} {quote(os.path.relpath(path))}", in_short(error))
        elif isinstance(error, ConfigurationError):
            yield Remedy("sow config edit", in_short(error))


def file_of(error: SowError) -> Path | None:
    """Return the file that is at fault, where it is one that can be edited."""
    path = getattr(error, "path", None)
    return path if isinstance(path, Path) and path.name.endswith(".yaml") else None


def in_short(error: SowError) -> str:
    """Return what is wrong, in a line."""
    return " ".join(error.message.split())
