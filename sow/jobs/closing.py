"""Closing a connection to a queue file that is not ours, or whose log is not its own.

Who closes a file as the last one has SQLite write what lies there as its log into it, and remove
the log. That may be the log of our own file, in whose place another one was put. So nothing is
written and nothing removed: for SQLite somebody else has the file open meanwhile.

A second connection would do that as well, but it opens what has the name by then. Where that is an
empty file, as one that is only being written, SQLite removes the log beside it (sqlite 3.40,
pager.c).
"""

import fcntl
import os
import sqlite3
import struct
from contextlib import ExitStack, suppress
from pathlib import Path

from sow.jobs.open_files import OWN, Place, place_of

SHARED_FROM, SHARED_BYTES = 0x40000002, 510
"""Where everybody holds a lock who has a file open, and who is alone one that excludes others
(sqlite.org/fileformat2.html, the lock-byte page; os.h, `SHARED_FIRST`)."""
LOCK = struct.Struct("hhqqi4x")
"""`struct flock` of Linux, where it has offsets of 64 bits."""


def close_unwritten(path: Path, connection: sqlite3.Connection, file: Place | None = None) -> None:
    """Close a connection to what was opened as `path`, without writing or removing anything.

    `file`: which file that is, where it is known. On a system that has no locks of an open file's
    own (Linux has them), SQLite closes it as ever.
    """
    with ExitStack() as kept:
        for fd in _descriptors(path, file):
            with suppress(OSError):
                kept.callback(os.close, _shared(fd))
        connection.close()


def _descriptors(path: Path, file: Place | None) -> list[int]:
    """Return those by which this process has a file open, or whatever was opened by this name."""
    found = []
    for name in os.listdir(OWN):  # noqa: PTH208
        with suppress(OSError):  # the list's own
            opened = os.readlink(f"{OWN}/{name}").removesuffix(" (deleted)")  # noqa: PTH115
            if place_of(os.fstat(int(name))) == file or opened.rpartition("/")[2] == path.name:
                found.append(int(name))
    return found


def _shared(fd: int) -> int:
    """Return a descriptor with a lock as one who reads has: of its own, in this process too.

    Raises OSError.
    """
    own = os.open(f"{OWN}/{fd}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        wanted = LOCK.pack(fcntl.F_RDLCK, os.SEEK_SET, SHARED_FROM, SHARED_BYTES, 0)
        if hasattr(fcntl, "F_OFD_SETLK"):
            fcntl.fcntl(own, fcntl.F_OFD_SETLK, wanted)
    except BaseException:
        os.close(own)
        raise
    return own
