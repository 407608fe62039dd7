"""Deleting the folder of a clone, whatever an agent has made of it.

Owns two promises: nothing outside the folder is deleted, whatever links,
mounts and rights it holds; and a clone is never seen half deleted in its place.
"""

import os
import stat
from pathlib import Path

from sow.clones.locks import gone_path, refuse_links_above
from sow.errors import StateError

OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

DEEPEST = 100
"""How many folders are open at once, one in another."""


class NotDeleted(StateError):
    """Something in a clone cannot be deleted. The rest of it may be."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"{path} was not deleted: {reason}",
            hint="Fix this, then run `sow clone prune`, which deletes the rest.",
        )


def delete_clone(path: Path) -> None:
    """Take a clone out of its place, and delete it. The caller holds its lock.

    A link in the clone's place is removed itself; nothing that it leads to is.
    Raises NotDeleted, LinkedFolder.
    """
    refuse_links_above(path)
    gone = gone_path(path)
    try:
        path.rename(gone)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _not(str(path), error) from error
    delete_folder(gone)


def delete_folder(path: Path) -> None:
    """Delete a folder with all that is in it, or whatever else lies there. Raises NotDeleted."""
    try:
        parent = os.open(path.parent, OPEN_FOLDER & ~os.O_NOFOLLOW)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _not(str(path.parent), error) from error
    try:
        device = os.fstat(parent).st_dev
        while _is_there(parent, path.name):  # what lay too deep has come up meanwhile
            _delete(parent, path.name, str(path), Top(device))
    finally:
        os.close(parent)


class Top:
    """The folder that is deleted: its file system, and its descriptor once it is open."""

    def __init__(self, device: int) -> None:
        self.device = device
        self.descriptor = -1


def _is_there(parent: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _delete(parent: int, name: str, shown: str, top: Top, depth: int = 0) -> None:
    """Delete `name` in the open folder `parent`; what lies too deep is moved up into the top."""
    try:
        mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
        if not stat.S_ISDIR(mode):
            os.unlink(name, dir_fd=parent)
            return
        folder = _open(parent, name, mode)
        try:
            if os.fstat(folder).st_dev != top.device:
                raise NotDeleted(shown, "another file system is mounted there")
            if depth == 0:
                top.descriptor = folder
            elif depth == DEEPEST:
                higher = f".deep-{os.urandom(8).hex()}"
                os.rename(name, higher, src_dir_fd=parent, dst_dir_fd=top.descriptor)
                return
            for entry in os.listdir(folder):  # noqa: PTH208 - of an open folder
                _delete(folder, entry, f"{shown}/{entry}", top, depth + 1)
        finally:
            os.close(folder)
        if depth or not _names(parent, name):
            os.rmdir(name, dir_fd=parent)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _not(shown, error) from error


def _names(parent: int, name: str) -> list[str]:
    folder = os.open(name, OPEN_FOLDER, dir_fd=parent)
    try:
        return os.listdir(folder)  # noqa: PTH208 - of an open folder
    finally:
        os.close(folder)


def _open(parent: int, name: str, mode: int) -> int:
    """Open a folder for deleting what is in it; one that may not be changed is made to be."""
    wanted = stat.S_IRWXU
    if stat.S_IMODE(mode) & wanted != wanted:
        _allow(parent, name)
    return os.open(name, OPEN_FOLDER, dir_fd=parent)


def _allow(parent: int, name: str) -> None:
    """Give ourselves all rights to a folder, and to nothing that a link could put in its place."""
    if hasattr(os, "O_PATH"):
        handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        try:
            if stat.S_ISDIR(os.fstat(handle).st_mode):
                os.chmod(f"/proc/self/fd/{handle}", 0o700)  # noqa: PTH101
        finally:
            os.close(handle)
    else:
        os.chmod(name, 0o700, dir_fd=parent, follow_symlinks=False)


def _not(path: str, error: OSError) -> NotDeleted:
    return NotDeleted(path, (error.strerror or str(error)).lower())
