"""The lock of a folder: a `flock` on the folder itself, so that no lock file is left behind.

Owns who holds which lock in this process, thread by thread.
"""

import fcntl
import os
import time
from _thread import get_ident
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from sow.files.file_errors import FolderMissing, NotWritten, StateLocked

LOCK_TIMEOUT_SECONDS = 10.0
RETRY_SECONDS = 0.005

_HELD: set[tuple[int, str]] = set()
"""The folders whose lock a thread of this process holds."""


def holds_a_lock() -> bool:
    """Whether this thread holds the lock of any folder."""
    return any(thread == get_ident() for thread, _ in _HELD)


@contextmanager
def locked_folder(folder: Path, *, timeout_seconds: float = LOCK_TIMEOUT_SECONDS) -> Iterator[None]:
    """Hold the exclusive lock of `folder` for the length of the block.

    Hold it for one read, change and write; never while waiting or running a
    program. The lock ends with the process, however that ends. It is not
    re-entrant. A folder that was moved away while its lock was waited for is
    not what is meant any more. Raises StateLocked, FolderMissing.
    """
    descriptor = _open_locked(folder, timeout_seconds)
    try:
        _HELD.add(mark := (get_ident(), str(folder)))
        try:
            yield
        finally:
            _HELD.discard(mark)
    finally:
        os.close(descriptor)


def _open_locked(folder: Path, timeout_seconds: float) -> int:
    """Return the folder that lies at the path, open and locked."""
    while True:
        descriptor = _open(folder)
        try:
            _take(descriptor, folder, timeout_seconds)
            if _is_at(folder, descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _open(folder: Path) -> int:
    try:
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise FolderMissing(folder) from None
    except OSError as error:
        raise NotWritten(folder, error) from error


def _is_at(folder: Path, descriptor: int) -> bool:
    """Whether an open folder is still what lies at its path."""
    try:
        there = os.stat(folder)  # noqa: PTH116 - every change of a state comes by here
    except OSError:
        return False
    ours = os.fstat(descriptor)
    return (there.st_ino, there.st_dev) == (ours.st_ino, ours.st_dev)


def is_held(folder: Path) -> bool:
    """Whether this thread holds the lock of `folder`."""
    return (get_ident(), str(folder)) in _HELD


def locked_once(
    folder: Path, *, timeout_seconds: float = LOCK_TIMEOUT_SECONDS
) -> AbstractContextManager[None]:
    """Hold the lock of `folder` as `locked_folder` does; it may be this thread's already.

    To wait for a lock of one's own would be for ever.
    """
    if is_held(folder):
        return nullcontext()
    return locked_folder(folder, timeout_seconds=timeout_seconds)


def _take(descriptor: int, folder: Path, timeout_seconds: float) -> None:
    deadline = time.monotonic() + timeout_seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise StateLocked(folder, timeout_seconds) from None
            time.sleep(RETRY_SECONDS)
        else:
            return
