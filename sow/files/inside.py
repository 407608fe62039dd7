"""Folders to write in: opened part by part, and never through a link that leads out.

Owns the one rule for all that sow writes below a repository. Whoever fills a repository may
commit a link in the place of `.sow`, or of anything in it; what is written below it must not land
among its user's own files. A link that stays inside the repository is followed. A path with a part
named `.sow` lies in the repository that the part lies in; for other paths the caller names it.

A folder is opened without following a link, one part after the other, and what is made, renamed
or removed in it goes by the open folder. So it does not matter what is put in the way afterwards.
"""

import errno
import os
from _thread import get_ident
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sow.files.file_errors import LeadsOut
from sow.paths import SOW_FOLDER, path_at

FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""How a folder is opened: a link in its place is refused."""
NO_FOLDER = (errno.ENOTDIR, errno.ELOOP, errno.EMLINK)
"""What systems say of anything else that lies there."""
PLAIN = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
PRIVATE = 0o700
"""The mode of a folder for its owner alone: it is set, whatever the umask."""
USUAL = 0o777
GIT_FOLDER = ".git"

HELD: dict[tuple[int, str], int] = {}
"""The folders whose lock a thread of this process holds, and their descriptors."""


def open_folder(folder: Path, *, root: Path | None = None, makes: int | None = None) -> int:
    """Return a folder, open; the caller closes it.

    `root` is the repository where the path does not tell. `makes` is the mode of the folders to
    make where some are missing. Raises LeadsOut, OSError.
    """
    top_parts = _top_of(folder, root)
    if top_parts is not None:
        return _walk(top_parts, folder, makes)
    if makes is not None:
        folder.mkdir(mode=makes, parents=True, exist_ok=True)
    return os.open(folder, PLAIN)


@contextmanager
def opened_folder(
    folder: Path, *, root: Path | None = None, makes: int | None = None
) -> Iterator[int]:
    """Give a folder, open: the one that this thread has locked, if it is that one.

    Raises LeadsOut, OSError.
    """
    held = HELD.get((get_ident(), os.fspath(folder)))
    if held is not None and is_at(folder, held):
        yield held
        return
    descriptor = open_folder(folder, root=root, makes=makes)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def is_at(folder: Path, descriptor: int) -> bool:
    """Whether an open folder is still what lies at its path."""
    try:
        there = os.stat(folder)  # noqa: PTH116 - every change of a state comes by here
    except OSError:
        return False
    ours = os.fstat(descriptor)
    return (there.st_ino, there.st_dev) == (ours.st_ino, ours.st_dev)


def refuse_leading_out(path: Path, *, root: Path | None = None) -> None:
    """Raise LeadsOut where a file or folder is reached, or is itself, through a link that does."""
    for top in _roots_of(path, root):
        link = _link_out(path, top)
        if link is not None:
            raise LeadsOut(link, top)


def make_folder(folder: Path, *, root: Path | None = None) -> None:
    """Make a folder and those above it, as far as they are missing. Raises LeadsOut, OSError."""
    os.close(open_folder(folder, root=root, makes=USUAL))


def move(path: Path, to: Path) -> None:
    """Rename a file or a folder; a file in its new place is replaced. Raises LeadsOut, OSError."""
    with opened_folder(path.parent) as source, opened_folder(to.parent) as target:
        os.rename(path.name, to.name, src_dir_fd=source, dst_dir_fd=target)


def link(path: Path, to: Path) -> None:
    """Give a file, or a link itself, a second name that is free. Raises LeadsOut, OSError."""
    with opened_folder(path.parent) as source, opened_folder(to.parent) as target:
        os.link(path.name, to.name, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)


def remove_file(path: Path, *, root: Path | None = None, missing_ok: bool = True) -> None:
    """Remove a file or a link. Raises LeadsOut, OSError."""
    try:
        with opened_folder(path.parent, root=root) as folder:
            os.unlink(path.name, dir_fd=folder)
    except FileNotFoundError:
        if not missing_ok:
            raise


def discard_tree(path: Path) -> None:
    """Remove a folder with all that is in it, as far as that is possible. Raises LeadsOut."""
    import shutil  # heavy, and seldom needed

    with suppress(OSError), opened_folder(path.parent) as folder:
        shutil.rmtree(path.name, ignore_errors=True, dir_fd=folder)


def _roots_of(path: Path, root: Path | None) -> list[Path]:
    """Return the repositories that a path lies in, the outermost first."""
    parts = path.parts
    found = [Path(*parts[:at]) for at, part in enumerate(parts) if at and part == SOW_FOLDER]
    if root is not None and root not in found:
        found = sorted([*found, root], key=lambda top: len(top.parts))
    return found


def _top_of(path: Path, root: Path | None) -> int | None:
    """Return how many parts the outermost of these repositories has; None where there is none."""
    parts = path.parts
    found = parts.index(SOW_FOLDER, 1) if SOW_FOLDER in parts[1:] else None
    if root is None:
        return found
    own = len(parts) - len(path.relative_to(root).parts)
    return own if found is None else min(found, own)


def _walk(top_parts: int, folder: Path, makes: int | None) -> int:
    parts = folder.parts
    top = path_at(os.path.join("", *parts[:top_parts]))  # noqa: PTH118
    try:
        return _step_down(top, parts[top_parts:], makes)
    except OSError as error:
        if error.errno not in NO_FOLDER:
            raise
        refuse_leading_out(folder, root=top)
        top, real = Path(os.path.realpath(top)), Path(os.path.realpath(folder))
        if real == folder or not real.is_relative_to(top):  # no link: something else lies there
            raise
        return _step_down(top, real.relative_to(top).parts, makes)


def _step_down(top: Path, parts: tuple[str, ...], makes: int | None) -> int:
    """Return the folder below another, open; no link below that is followed. Raises OSError."""
    try:
        descriptor = os.open(top, PLAIN)
    except FileNotFoundError:
        if makes is None:
            raise
        os.makedirs(top, exist_ok=True)  # noqa: PTH103 - no link of a repository is on this way
        descriptor = os.open(top, PLAIN)
    for part in parts:
        above = descriptor
        try:
            descriptor = _open_part(part, above, makes)
        finally:
            os.close(above)
    return descriptor


def _open_part(name: str, above: int, makes: int | None) -> int:
    try:
        return os.open(name, FLAGS, dir_fd=above)
    except FileNotFoundError:
        if makes is None:
            raise
    with suppress(FileExistsError):
        os.mkdir(name, makes, dir_fd=above)
        if makes == PRIVATE:
            os.chmod(name, makes, dir_fd=above)  # the umask may have taken what we need
    return os.open(name, FLAGS, dir_fd=above)


def _link_out(path: Path, top: Path) -> Path | None:
    """Return the first link on the way from a repository to a path that leads out of it."""
    real_top = os.path.realpath(top)
    place = top
    for part in path.relative_to(top).parts:
        place /= part
        if place.is_symlink() and not _is_content(os.path.realpath(place), real_top):
            return place
    return None


def _is_content(real: str, top: str) -> bool:
    """Whether a path lies in a repository, and not in git's own folder there."""
    inside = Path(os.path.relpath(real, top)).parts
    return inside[:1] != (os.pardir,) and GIT_FOLDER not in inside
