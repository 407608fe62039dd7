"""Folders of ours that others may have changed: opened, written and emptied without a link.

Owns what is done with what lies in the way. Whoever may write in such a folder may have put a link
in the place of any part of it, a folder in the place of a file, or taken all rights from it. A link
is removed itself and never followed; what is made again is ours alone.
"""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from sow.files.inside import FLAGS, NO_FOLDER, PLAIN, PRIVATE
from sow.files.trees import open_own, remove_tree
from sow.files.writing import write_in


@contextmanager
def opened_below(top: Path, parts: Sequence[str], *, makes: bool = False) -> Iterator[int]:
    """Give the folder at `parts` below `top`, open, and follow no link below `top`.

    With `makes` what is missing is made, links in its place are removed, and each part is closed to
    others. Raises OSError.
    """
    if makes:
        top.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    with _walked(os.open(top, PLAIN), parts, _made if makes else _there) as found:
        yield found


@contextmanager
def _walked(folder: int, parts: Sequence[str], step: Callable[[str, int], int]) -> Iterator[int]:
    """Give the folder to which each `step` from an open one leads, open; that one is closed."""
    for part in parts:
        above = folder
        try:
            folder = step(part, above)
        finally:
            os.close(above)
    try:
        yield folder
    finally:
        os.close(folder)


def _there(name: str, above: int) -> int:
    """Return a folder in an open one, open."""
    return os.open(name, FLAGS, dir_fd=above)


def _made(name: str, above: int) -> int:
    """Return the same; it is made where it is missing, or a link is there."""
    if kind_in(above, name) == stat.S_IFLNK:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=above)
    with suppress(FileExistsError):
        os.mkdir(name, PRIVATE, dir_fd=above)
    descriptor = open_own(above, name)
    if descriptor is None:
        raise NotADirectoryError(NO_FOLDER[0], os.strerror(NO_FOLDER[0]), name)
    if stat.S_IMODE(os.fstat(descriptor).st_mode) != PRIVATE:
        os.fchmod(descriptor, PRIVATE)
    return descriptor


def _cleared(name: str, above: int) -> int:
    """Return the same; it takes the place of whatever else is there."""
    if kind_in(above, name) != stat.S_IFDIR:
        remove_tree(above, name)
    return _made(name, above)


def kind_in(folder: int, name: str) -> int:
    """Return what lies in an open folder under a name, as `stat.S_IFMT` has it; 0 for nothing."""
    try:
        return stat.S_IFMT(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return 0


def write_file(folder: int, parts: Sequence[str], data: bytes) -> None:
    """Put a file at `parts` below an open folder, for us alone, whatever lies there or in its way.

    Raises OSError, NotWritten.
    """
    name = parts[-1]
    with _walked(os.dup(folder), parts[:-1], _cleared) as above:
        if kind_in(above, name) not in (0, stat.S_IFREG):
            remove_tree(above, name)
        write_in(above, Path(name), data, mode=0o600, durable=False)


def opened_in(folder: int, parts: Sequence[str]) -> AbstractContextManager[int]:
    """Give the folder at `parts` below an open one, open; it is made, whatever lies in its way."""
    return _walked(os.dup(folder), parts, _cleared)


def copy_following(source: Path, folder: int, parts: Sequence[str]) -> None:
    """Copy a file or a folder to `parts` below an open folder, in the place of what lies there.

    Links in the source are followed: they are their owner's. What is neither is left out. The copy
    takes its place when it is whole, and it is for us alone. Raises OSError.
    """
    name = parts[-1]
    draft = f".{name}.new"
    if not source.exists() and kind_in(folder, parts[0]) == 0:
        return
    with _walked(os.dup(folder), parts[:-1], _cleared) as above:
        remove_tree(above, draft)
        _copy(source, above, draft)
        remove_tree(above, name)
        with suppress(FileNotFoundError):  # there is no source
            os.rename(draft, name, src_dir_fd=above, dst_dir_fd=above)


def _copy(source: Path, folder: int, name: str) -> None:
    if source.is_dir():
        os.mkdir(name, PRIVATE, dir_fd=folder)
        made = os.open(name, FLAGS, dir_fd=folder)
        try:
            for entry in sorted(source.iterdir()):
                _copy(entry, made, entry.name)
        finally:
            os.close(made)
    elif source.is_file():
        mode = 0o600 | source.stat().st_mode & stat.S_IXUSR
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(name, flags, mode, dir_fd=folder), "wb") as file:
            file.write(source.read_bytes())
