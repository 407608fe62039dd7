"""The kernel's locks on open files (`flock`): the one door to them.

A lock ends with the last descriptor of that opening. So whoever is killed leaves none behind,
and a child that inherits the descriptor holds the lock on.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sow.files.file_errors import NotWritten

LOCK_FILE = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
POLL_SECONDS = 0.05
SHORTEST_PAUSE_SECONDS = 0.0002
LATER_SHARE = 0.25
"""A lock is had later than it was free by at most this share of the time that it was waited for."""


def try_lock(descriptor: int, *, shared: bool = False) -> bool:
    """Lock an open file; return whether it was free. Raises OSError."""
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def lock_within(descriptor: int, seconds: float, *, every: float, shared: bool = False) -> bool:
    """Lock an open file, tried again and again for so many seconds; return whether it is.

    At first it is tried often, later `every` so many seconds: most locks are held for a moment.
    """
    begun = time.monotonic()
    while not try_lock(descriptor, shared=shared):
        waited = time.monotonic() - begun
        if waited >= seconds:
            return False
        time.sleep(min(every, max(SHORTEST_PAUSE_SECONDS, waited * LATER_SHARE)))
    return True


def open_lock_file(path: Path) -> int:
    """Open a file that is there to be locked; make it where it is missing. Raises OSError."""
    return os.open(path, LOCK_FILE, 0o600)


@contextmanager
def lock_file_held(path: Path) -> Iterator[int]:
    """Hold the lock of a file for the length of the block, however long another holds it."""
    descriptor = open_lock_file(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def lock_opened(
    opening: Callable[[], int],
    is_still: Callable[[int], bool],
    seconds: float,
    *,
    every: float = POLL_SECONDS,
) -> int | None:
    """Open something and lock it; return it open, or None where another holds it all the time.

    Whoever moves or removes what is locked leaves its lock behind: where it is not `is_still` what
    is meant, what is there by now is opened. Raises what `opening` does, OSError.
    """
    deadline = time.monotonic() + seconds
    while True:
        descriptor, is_taken = opening(), False
        try:
            if not lock_within(descriptor, deadline - time.monotonic(), every=every):
                return None
            is_taken = is_still(descriptor)
            if is_taken:
                return descriptor
        finally:
            if not is_taken:
                os.close(descriptor)


def take_lock_file(path: Path, timeout_seconds: float) -> int | None:
    """Lock the file at a path; return it open, or None where another holds it all the time.

    Whoever removes what it guards removes the file too. Raises NotWritten.
    """
    try:
        return lock_opened(
            lambda: open_lock_file(path), lambda opened: _is_at(opened, path), timeout_seconds
        )
    except OSError as error:
        raise NotWritten(path, error) from error


def lock_existing(path: Path, flags: int) -> int | None:
    """Lock what lies at a path, opened so; return it open, or None where another holds it.

    Nothing is made. Raises OSError, FileNotFoundError where it is gone.
    """
    return lock_opened(lambda: os.open(path, flags), lambda opened: _is_at(opened, path), 0)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        return False
