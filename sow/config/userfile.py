"""The user's file as a whole: made from the template, backed up, removed.

Owns these changes; each is complete or has not happened. What the file says is
nothing to this module: it works on broken ones too.
"""

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path

from sow.config.config_errors import CannotChange
from sow.config.template import template
from sow.files import NotAFile, NotWritten, read_regular, sync_folder, write_atomically, write_new
from sow.paths import CONFIG_LIMIT

FILE_MODE, FOLDER_MODE = 0o600, 0o700
"""Nobody else's business: `env` may hold keys."""


def exists(path: Path) -> bool:
    """Whether anything lies at `path`, a link that leads nowhere included."""
    return os.path.lexists(path)


def create(path: Path, roles: Mapping[str, str]) -> None:
    """Write the template to `path`, and its folder first. A link is followed.

    Replaces what is there: `back_up` comes first. Raises CannotChange.
    """
    target = Path(os.path.realpath(path))
    with _told_of(path):
        target.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        write_atomically(target, template(path, roles).encode("utf-8", "replace"), mode=FILE_MODE)


def back_up(path: Path) -> Path:
    """Copy the file to `config.yaml.backup`, or `.backup.1`, … : the first name that is free.

    Returns the copy's path. Raises CannotChange.
    """
    with _told_of(path):
        return copy_beside(path, read_regular(path, CONFIG_LIMIT))


def copy_beside(path: Path, data: bytes) -> Path:
    """Write what a file holds beside it, under such a name; return the copy's. Raises NotWritten.

    The copy has the file's mode.
    """
    mode = path.stat().st_mode & 0o777
    for backup in _backup_names(path):
        try:
            write_new(backup, data, mode=mode)
        except FileExistsError:
            continue
        return backup
    raise AssertionError("the names of backups never end")


def reset(path: Path) -> Path | None:
    """Remove the file, keeping a backup; return the backup's path.

    A link that leads nowhere is removed without one. Raises CannotChange.
    """
    backup = back_up(path) if path.exists() else None
    with _told_of(path):
        path.unlink()
        sync_folder(path.parent)
    return backup


def _backup_names(path: Path) -> Iterator[Path]:
    first = path.with_name(f"{path.name}.backup")
    return chain([first], (first.with_name(f"{first.name}.{number}") for number in count(1)))


@contextmanager
def _told_of(path: Path) -> Iterator[None]:
    try:
        yield
    except NotAFile as error:
        raise CannotChange(error.path, OSError(errno.EINVAL, error.reason)) from error
    except NotWritten as error:
        raise CannotChange(error.path, error.error) from error
    except OSError as error:
        raise CannotChange(path, error) from error
