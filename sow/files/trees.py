"""Folders with all that is in them, copied and removed through open folders.

No path is followed and no link: whatever somebody puts in the way meanwhile, nothing is written,
removed or made writable but in the folder that was given. A folder is given by who holds it, open.
"""

import errno
import os
import shutil
import stat

from sow.files.inside import FLAGS, NO_FOLDER

OWN_MODE = 0o700
DEEPEST = 100
"""How many folders are open at once, one in another."""
READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
MAKING = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class NotRemoved(OSError):
    """Something in a tree cannot be removed; `filename` is where it lies."""


class _Top:
    """The folder that is removed: its file system, and its descriptor once it is open."""

    def __init__(self, device: int) -> None:
        self.device = device
        self.descriptor = -1


def remove_tree(folder: int, name: str, shown: str = "") -> None:
    """Remove what lies in an open folder under a name; a folder goes with all that is in it.

    However deep that is, and whatever its rights are. `shown` is its path, for the error.
    Raises NotRemoved; the rest may be gone then.
    """
    device = os.fstat(folder).st_dev
    while _is_there(folder, name):  # what lay too deep has come up meanwhile
        _remove(folder, name, shown or name, _Top(device))


def _is_there(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _remove(folder: int, name: str, shown: str, top: _Top, depth: int = 0) -> None:
    """Remove `name` in an open folder; what lies too deep is moved up into the top."""
    try:
        opened = open_own(folder, name)
        if opened is None:
            os.unlink(name, dir_fd=folder)
            return
        try:
            if os.fstat(opened).st_dev != top.device:
                raise NotRemoved(errno.EXDEV, "another file system is mounted there", shown)
            if os.fstat(opened).st_mode & OWN_MODE != OWN_MODE:
                os.fchmod(opened, OWN_MODE)
            if depth == 0:
                top.descriptor = opened
            elif depth == DEEPEST:
                higher = f".deep-{os.urandom(8).hex()}"
                os.rename(name, higher, src_dir_fd=folder, dst_dir_fd=top.descriptor)
                return
            for entry in os.listdir(opened):  # noqa: PTH208 - of an open folder
                _remove(opened, entry, f"{shown}/{entry}", top, depth + 1)
            if depth or not os.listdir(opened):  # noqa: PTH208 - likewise
                os.rmdir(name, dir_fd=folder)
        finally:
            os.close(opened)
    except FileNotFoundError:
        return
    except NotRemoved:
        raise
    except OSError as error:
        raise NotRemoved(error.errno, error.strerror, shown) from error


def open_own(folder: int, name: str, *, is_allowed: bool = False) -> int | None:
    """Return a folder of ours, open, whatever its rights; None for anything else that lies there.

    Raises OSError.
    """
    try:
        return os.open(name, FLAGS, dir_fd=folder)
    except PermissionError:
        if is_allowed:
            raise
        _allow(folder, name)
        return open_own(folder, name, is_allowed=True)
    except OSError as error:
        if error.errno not in NO_FOLDER:
            raise
    return None


def _allow(folder: int, name: str) -> None:
    """Give ourselves all rights to a folder, and to nothing that a link could put in its place."""
    if hasattr(os, "O_PATH"):
        handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            if stat.S_ISDIR(os.fstat(handle).st_mode):
                os.chmod(f"/proc/self/fd/{handle}", OWN_MODE)  # noqa: PTH101
        finally:
            os.close(handle)
    else:
        os.chmod(name, OWN_MODE, dir_fd=folder, follow_symlinks=False)


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
