"""The cache that all repositories of a user share on this machine: one folder for each address.

Owns where it lies, the names in it, and the lock of one cached repository. A folder holds
`repository.git`, `trees` with what is linked, and `record.json`; its lock lies beside it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from sow.digest import sha256
from sow.errors import StateError
from sow.files import NotWritten
from sow.files.flock import take_lock_file
from sow.files.trees import remove_tree
from sow.refs.sources import key_of
from sow.user_folders import BaseFolder, user_folder

LOCK_SECONDS = 1800.0
"""How long a second one waits while the first fetches."""
FOLDER_MODE = 0o700
DRAFT = ".draft-"
GONE = ".gone-"
FILES = "files"
"""The folder of a tree that holds what the remote has. It lies one deeper than the tree, so that
an agent's CLI that is told of the tree takes nothing at its root for settings of its own."""


def cache_root() -> Path:
    """Return `$XDG_CACHE_HOME/sow/refs`, or what stands for it on this platform."""
    return Path(os.path.realpath(user_folder(BaseFolder.CACHE)), "refs")


class Cached(Struct, frozen=True):
    """The place of one repository in the cache. Nothing is promised to be there."""

    source: str
    folder: Path

    @property
    def repository(self) -> Path:
        """The bare repository: history, and what has been fetched of the contents."""
        return self.folder / "repository.git"

    @property
    def trees(self) -> Path:
        """The folder of what is linked: one for each commit and folder of it."""
        return self.folder / "trees"

    @property
    def record(self) -> Path:
        """What this machine knows of it: commits, times, who uses it."""
        return self.folder / "record.json"

    @property
    def lock(self) -> Path:
        """The file whose `flock` is its lock."""
        return self.folder.with_name(f".lock-{self.folder.name}")

    def tree(self, name: str) -> Path:
        """Return the folder of a tree."""
        return self.trees / name


def cached(source: str, root: Path | None = None) -> Cached:
    """Return the place of an address in the cache."""
    return Cached(source, (root or cache_root()) / key_of(source))


def tree_name(commit: str, subfolder: str) -> str:
    """Return the name of the tree of a commit, or of a folder of it."""
    if not subfolder:
        return commit
    return f"{commit}-{sha256(subfolder.encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"


@contextmanager
def locked(place: Cached, *, timeout_seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold the lock of a cached repository for the length of the block; make the cache's folder.

    It ends with the process. It is not re-entrant. A link in the place of one of its folders is
    refused. Raises StateError, NotWritten.
    """
    try:
        place.folder.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    except OSError as error:
        raise NotWritten(place.folder.parent, error) from error
    descriptor = take_lock_file(place.lock, timeout_seconds)
    if descriptor is None:
        raise StateError(
            f"{place.source} is being fetched by another process (waited {timeout_seconds:g} s)",
            hint=f"Try again later. `fuser {place.lock}` prints the id of that process.",
            passes=True,
        )
    try:
        for folder in (place.folder, place.repository, place.trees):
            if folder.is_symlink():
                raise StateError(
                    f"{folder} is a link: nothing is fetched there",
                    hint="Look at it, and move it away; then call `sow refs init` in each"
                    " repository that uses it.",
                )
        yield
    finally:
        os.close(descriptor)


def is_inside(path: str, folder: Path) -> bool:
    """Whether a path, as it is written, lies below a folder."""
    return os.path.normpath(path).startswith(f"{folder}{os.sep}")


def delete_tree(folder: Path) -> None:
    """Take a folder of the cache out of its place, then delete it. Raises NotWritten.

    It is never seen half deleted. What is in it is read-only; a link in its place, or in it, goes
    as a link.
    """
    try:
        parent = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            name = folder.name
            if not name.startswith((GONE, DRAFT)):
                name = f"{GONE}{os.urandom(6).hex()}"
                os.rename(folder.name, name, src_dir_fd=parent, dst_dir_fd=parent)
            remove_tree(parent, name)
        finally:
            os.close(parent)
    except FileNotFoundError:
        return
    except OSError as error:
        raise NotWritten(folder, error) from error


def forget(place: Cached) -> None:
    """Delete a cached repository with all that belongs to it. The caller holds its lock."""
    delete_tree(place.folder)
    with suppress(OSError):
        place.lock.unlink()
