"""Which files the processes of this machine have open, as far as this user may look.

Opens none of them: closing a file frees the locks that SQLite holds on it for this process.
"""

import os
from collections.abc import Collection, Iterator
from contextlib import suppress

Place = tuple[int, int]
"""Device and inode: one file, whatever its names."""
OWN = "/dev/fd"
"""The files that this process has open: Linux and macOS have it."""


def place_of(facts: os.stat_result) -> Place:
    """Return which file this is."""
    return facts.st_dev, facts.st_ino


def is_open_without(file: Place, *others: Place | None) -> bool:
    """Whether a process has a file open, and one of others not. None: one that is not there."""
    return any(file in files and not files.issuperset(others) for files in _each_process())


def are_open_here(files: Collection[Place]) -> bool:
    """Whether this process has them all open; where its files cannot be listed, they count so."""
    try:
        names = os.listdir(OWN)  # noqa: PTH208
    except OSError:  # a machine without such a list
        return True
    found = set()
    for name in names:
        with suppress(OSError):  # the list's own
            found.add(place_of(os.fstat(int(name))))
    return found.issuperset(files)


def _each_process() -> Iterator[set[Place]]:
    """Give what each has open; nothing where we may not look, or it has ended."""
    with os.scandir("/proc") as processes:
        for process in processes:
            if process.name.isdigit():
                yield _open_files(process.path)


def _open_files(process: str) -> set[Place]:
    found = set()
    with suppress(OSError), os.scandir(f"{process}/fd") as entries:
        for entry in entries:
            with suppress(OSError):
                found.add(place_of(entry.stat()))
    return found
