"""Reading what others may have written, or put in a file's place.

Owns that no reader is ever held up, nor reads more than it asked for.
"""

import errno
import os
import stat
from pathlib import Path

from sow.files.file_errors import NotAFile, unreadable
from sow.files.inside import opened_folder, refuse_leading_out

TAIL_BYTES = 8192
SMALL = 65_536
COPY_IT = "Put a copy of the file in its place: what lies outside may be anything of its user's."
IS_LINK = (errno.ELOOP, errno.EMLINK)
"""What systems say of a link that is not to be followed."""
KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def open_regular(path: Path, flags: int = os.O_RDONLY, mode: int = 0o644) -> int:
    """Open a regular file and return its descriptor; never waits, whatever lies there.

    A pipe without a writer would hold its reader up for ever. Nothing is opened
    for writing through a link: a repository may bring one along that leads to a
    file of its user's. Raises NotAFile for anything else, LeadsOut, OSError.
    """
    return _opened(path, flags, mode)[0]


def _opened(path: Path, flags: int = os.O_RDONLY, mode: int = 0o644) -> tuple[int, int]:
    """Do as `open_regular`, and return the size of the file besides."""
    writes = flags & (os.O_WRONLY | os.O_RDWR)
    flags |= os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    try:
        descriptor = _open_to_write(path, flags, mode) if writes else os.open(path, flags)
    except OSError:
        if kind := _kind_at(path):  # a socket, or a pipe that nobody reads
            raise NotAFile(path, kind) from None
        if writes and path.is_symlink():
            refuse_leading_out(path)
            raise NotAFile(
                path, "it is a symbolic link, and sow does not write through links"
            ) from None
        raise
    facts = os.fstat(descriptor)
    kind = _kind(facts.st_mode)
    if kind:
        os.close(descriptor)
        raise NotAFile(path, kind)
    return descriptor, facts.st_size


def _open_to_write(path: Path, flags: int, mode: int) -> int:
    with opened_folder(path.parent) as folder:
        return os.open(path.name, flags | os.O_NOFOLLOW, mode, dir_fd=folder)


def read_regular(path: Path, limit: int) -> bytes:
    """Return all of a regular file of at most `limit` bytes; reads no more than that.

    Raises FileNotFoundError, NotAFile.
    """
    try:
        descriptor, size = _opened(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise unreadable(path, error) from error
    return _all_of(descriptor, size, path, limit)


def read_if_there(path: Path, limit: int) -> bytes | None:
    """Return the same; None where there is no such file, or none that can be read."""
    try:
        return read_regular(path, limit)
    except (FileNotFoundError, NotAFile):
        return None


def read_regular_in(folder: int, path: Path, limit: int) -> bytes:
    """Return all of a regular file in an open folder, as `read_regular` does; no link is followed.

    `path` is where it lies, for whoever reads of a fault: only its name counts. Raises
    FileNotFoundError, NotAFile.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    try:
        descriptor = os.open(path.name, flags, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno in IS_LINK:
            raise NotAFile(path, "it is a link, and no file of its own", hint=COPY_IT) from None
        raise unreadable(path, error) from error
    facts = os.fstat(descriptor)
    if kind := _kind(facts.st_mode):
        os.close(descriptor)
        raise NotAFile(path, kind)
    return _all_of(descriptor, facts.st_size, path, limit)


def _all_of(descriptor: int, size: int, path: Path, limit: int) -> bytes:
    """Return all that an open file holds, which had `size` bytes, and close it. Raises NotAFile.

    Once it has given just so many, nobody asks whether there is more: another system call for
    each file. One that grows tells its reader no less than it held.
    """
    try:
        if size > limit:
            raise _too_large(path, limit)
        parts, left = [], limit + 1
        piece = size + 1 or SMALL  # `limit` may be a MiB, and Python makes room for all it asks for
        while left and (part := os.read(descriptor, min(left, piece))):
            parts.append(part)
            left -= len(part)
            if limit + 1 - left == size:
                break
            piece = SMALL
    except OSError as error:
        raise unreadable(path, error) from error
    finally:
        os.close(descriptor)
    if not left:
        raise _too_large(path, limit)
    return b"".join(parts)


def refuse_link_out(path: Path) -> None:
    """Raise LeadsOut for a file below `.sow` that is a link out of the repository.

    Messages quote what a file holds that cannot be read as what it should be.
    """
    if os.path.islink(path):  # noqa: PTH114 - false where that may not be asked
        refuse_leading_out(path)


def read_inside(path: Path, root: Path, limit: int) -> bytes:
    """Return all of a regular file that lies below `root`, links followed, as `read_regular` does.

    What it holds goes to an agent's CLI: a repository chooses none of its user's own files
    for that. Raises FileNotFoundError, NotAFile.
    """
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
        raise NotAFile(path, "it is a link that leads out of the repository", hint=COPY_IT)
    return read_regular(path, limit)


def _too_large(path: Path, limit: int) -> NotAFile:
    size = f"{limit >> 20} MiB" if limit >= 1 << 20 else f"{limit >> 10} KiB"
    return NotAFile(
        path,
        f"it is larger than {size}",
        hint="Take out of it what does not belong there, or restore it with git.",
    )


def _kind_at(path: Path) -> str:
    try:
        return _kind(path.stat().st_mode)
    except OSError:
        return ""


def _kind(mode: int) -> str:
    """Return what a thing is that is no regular file; nothing for a regular one."""
    if stat.S_ISREG(mode):
        return ""
    return next((f"it is {name}, not a file" for holds, name in KINDS if holds(mode)), "")


def read_tail(path: Path, most: int = TAIL_BYTES) -> str:
    """Return the last `most` bytes of a file (8 KiB), undecodable ones replaced; else nothing."""
    try:
        descriptor = open_regular(path)
    except (OSError, NotAFile):
        return ""
    try:
        start = max(0, os.fstat(descriptor).st_size - most)
        return os.pread(descriptor, most, start).decode("utf-8", "replace")
    finally:
        os.close(descriptor)
