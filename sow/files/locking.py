"""The lock of a folder: a `flock` on the folder itself, so that no lock file is left behind.

Owns who holds which lock in this process, thread by thread.
"""

import os
from _thread import get_ident
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from sow.files.file_errors import FolderMissing, NotWritten, StateLocked
from sow.files.flock import lock_opened
from sow.files.inside import HELD, is_at, open_folder

LOCK_TIMEOUT_SECONDS = 10.0
RETRY_SECONDS = 0.005


def holds_a_lock() -> bool:
    """Whether this thread holds the lock of any folder."""
    return any(thread == get_ident() for thread, _ in HELD)


@contextmanager
def locked_folder(
    folder: Path,
    *,
    timeout_seconds: float = LOCK_TIMEOUT_SECONDS,
    opening: Callable[[], int] | None = None,
) -> Iterator[int]:
    """Hold the exclusive lock of `folder` for the length of the block, and give it, open.

    Hold it for one read, change and write; never while waiting or running a
    program. The lock ends with the process, however that ends. It is not
    re-entrant. A folder that was moved away while its lock was waited for is
    not what is meant any more. `opening` opens it where its path alone is not
    to be followed. Raises StateLocked, FolderMissing, LeadsOut, and what `opening` does.
    """
    descriptor = _open_locked(folder, timeout_seconds, opening)
    try:
        HELD[mark := (get_ident(), str(folder))] = descriptor
        try:
            yield descriptor
        finally:
            del HELD[mark]
    finally:
        os.close(descriptor)


def _open_locked(folder: Path, timeout_seconds: float, opening: Callable[[], int] | None) -> int:
    """Return the folder that lies at the path, open and locked."""
    descriptor = lock_opened(
        opening or (lambda: _open(folder)),
        lambda opened: is_at(folder, opened) if opening is None else _is_again(opening, opened),
        timeout_seconds,
        every=RETRY_SECONDS,
    )
    if descriptor is None:
        raise StateLocked(folder, timeout_seconds)
    return descriptor


def _open(folder: Path) -> int:
    try:
        return open_folder(folder)
    except (FileNotFoundError, NotADirectoryError):
        raise FolderMissing(folder) from None
    except OSError as error:
        raise NotWritten(folder, error) from error


def _is_again(opening: Callable[[], int], descriptor: int) -> bool:
    """Whether an open folder is what would be opened now."""
    again = opening()
    try:
        return os.path.samestat(os.fstat(again), os.fstat(descriptor))
    finally:
        os.close(again)


def is_held(folder: Path) -> bool:
    """Whether this thread holds the lock of `folder`."""
    return (get_ident(), str(folder)) in HELD


def locked_once(
    folder: Path, *, timeout_seconds: float = LOCK_TIMEOUT_SECONDS
) -> AbstractContextManager[object]:
    """Hold the lock of `folder` as `locked_folder` does; it may be this thread's already.

    To wait for a lock of one's own would be for ever.
    """
    if is_held(folder):
        return nullcontext()
    return locked_folder(folder, timeout_seconds=timeout_seconds)
