"""Folders with all that is in them, copied and removed through open folders.

No path is followed and no link: whatever somebody puts in the way meanwhile, nothing is written,
removed or made writable but in the folder that was given. A folder is given by who holds it, open.
"""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress

from sow.files.inside import FLAGS, NO_FOLDER

OWN_MODE = 0o700
READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
MAKING = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_tree(folder: int, name: str, aside: Callable[[], str]) -> None:
    """Remove what lies in an open folder under a name; a folder goes with all that is in it.

    However deep that is: each folder in it is first moved beside it, under a name from `aside`.
    Killed in the middle, it leaves some of these. Raises OSError.
    """
    waiting = [name]
    while waiting:
        each = waiting.pop()
        try:
            opened = os.open(each, FLAGS, dir_fd=folder)
        except OSError as error:
            if error.errno not in NO_FOLDER:
                raise
            os.unlink(each, dir_fd=folder)
            continue
        try:
            waiting += _emptied(opened, folder, aside)
        finally:
            os.close(opened)
        os.rmdir(each, dir_fd=folder)


def _emptied(opened: int, folder: int, aside: Callable[[], str]) -> list[str]:
    """Remove the files of a folder, and move its folders into another; return their new names."""
    os.fchmod(opened, OWN_MODE)
    with os.scandir(opened) as entries:
        found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    moved = []
    for name, is_folder in found:
        if not is_folder:
            os.unlink(name, dir_fd=opened)
            continue
        _allow(opened, name)
        moved.append(aside())
        os.rename(name, moved[-1], src_dir_fd=opened, dst_dir_fd=folder)
    return moved


def _allow(folder: int, name: str) -> None:
    """Give ourselves the right to move a folder that is read-only."""
    with suppress(OSError):  # the move says what is wrong
        opened = os.open(name, FLAGS, dir_fd=folder)
        try:
            os.fchmod(opened, OWN_MODE)
        finally:
            os.close(opened)


def copy_tree(source: int, folder: int, name: str) -> None:
    """Copy an open folder into another one under a new name, with its modes and without links.

    Raises OSError; what was copied until then stays.
    """
    os.mkdir(name, OWN_MODE, dir_fd=folder)
    made = os.open(name, FLAGS, dir_fd=folder)
    try:
        with os.scandir(source) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                _copy_folder(source, made, entry.name)
            elif entry.is_file(follow_symlinks=False):
                _copy_file(source, made, entry.name)
        os.fchmod(made, os.fstat(source).st_mode & 0o777)
    finally:
        os.close(made)


def _copy_folder(source: int, made: int, name: str) -> None:
    below = os.open(name, FLAGS, dir_fd=source)
    try:
        copy_tree(below, made, name)
    finally:
        os.close(below)


def _copy_file(source: int, made: int, name: str) -> None:
    with (
        os.fdopen(os.open(name, READING, dir_fd=source), "rb") as reading,
        os.fdopen(os.open(name, MAKING, 0o600, dir_fd=made), "wb") as writing,
    ):
        shutil.copyfileobj(reading, writing)
        writing.flush()
        os.fchmod(writing.fileno(), os.fstat(reading.fileno()).st_mode & 0o777)
