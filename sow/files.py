"""Files that two processes may write at once: locks, whole-file writes, appends.

Owns the protocol of every write below `.sow/project`: a `flock` on the folder
itself (no lock file to leave behind), a temporary file renamed into place, one
`O_APPEND` write for logs. Knows nothing of what the files hold.
"""

import fcntl
import os
import stat
import time
from _thread import get_ident
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

from sow.errors import StateError

LOCK_TIMEOUT_SECONDS = 10.0
RETRY_SECONDS = 0.005

_HELD: set[tuple[int, str]] = set()
"""The folders whose lock a thread of this process holds."""


class StateLocked(StateError):
    """Another process has held the lock of a folder for too long."""

    passes = True

    def __init__(self, folder: Path, timeout_seconds: float) -> None:
        self.folder = folder
        self.timeout_seconds = timeout_seconds
        super().__init__(
            f"{folder} is locked by another process (waited {timeout_seconds:g} s)",
            hint="Try again. A lock is held for one short write; `fuser` on the folder names "
            "a process that keeps it.",
        )


class FolderMissing(StateError):
    """A folder that was to be written in does not exist."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        super().__init__(
            f"{folder} does not exist",
            hint="`sow task list` shows the tasks there are; `sow init` makes a .sow folder.",
        )


class NotWritten(StateError):
    """The system refused a write; what was there before is as it was."""

    def __init__(self, path: Path, error: OSError) -> None:
        self.path = path
        self.error = error
        super().__init__(
            f"{path} was not written: {_words(error)}",
            hint="Free space on the disk or make the folder writable, then run the same again.",
        )


class NotAFile(StateError):
    """What should be a regular file of a sensible size is something else, or cannot be read."""

    def __init__(self, path: Path, reason: str, *, hint: str = "") -> None:
        self.path = path
        self.reason = reason
        super().__init__(
            f"{path} cannot be used: {reason}",
            hint=hint or "Put a readable file in its place, or restore it with git.",
        )


KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def open_regular(path: Path, flags: int = os.O_RDONLY, mode: int = 0o644) -> int:
    """Open a regular file and return its descriptor; never waits, whatever lies there.

    A pipe without a writer would hold its reader up for ever. Raises NotAFile
    for anything else, OSError.
    """
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY, mode)
    except OSError:
        if kind := _kind_at(path):  # a socket, or a pipe that nobody reads
            raise NotAFile(path, kind) from None
        raise
    kind = _kind(os.fstat(descriptor).st_mode)
    if kind:
        os.close(descriptor)
        raise NotAFile(path, kind)
    return descriptor


def read_regular(path: Path, limit: int) -> bytes:
    """Return all of a regular file of at most `limit` bytes; reads no more than that.

    Raises FileNotFoundError, NotAFile.
    """
    try:
        descriptor = open_regular(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise unreadable(path, error) from error
    try:
        if os.fstat(descriptor).st_size > limit:
            raise _too_large(path, limit)
        parts, left = [], limit + 1
        while left and (part := os.read(descriptor, left)):
            parts.append(part)
            left -= len(part)
    except OSError as error:
        raise unreadable(path, error) from error
    finally:
        os.close(descriptor)
    if not left:
        raise _too_large(path, limit)
    return b"".join(parts)


def unreadable(path: Path, error: OSError) -> NotAFile:
    """Return the error of a file that the system does not let us read."""
    return NotAFile(path, _words(error))


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
    return next((f"it is {name}, not a file" for holds, name in KINDS if holds(mode)), "")


def _words(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


@contextmanager
def locked_folder(folder: Path, *, timeout_seconds: float = LOCK_TIMEOUT_SECONDS) -> Iterator[None]:
    """Hold the exclusive lock of `folder` for the length of the block.

    Hold it for one read, change and write; never while waiting or running a
    program. The lock ends with the process, however that ends. It is not
    re-entrant. Raises StateLocked, FolderMissing.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise FolderMissing(folder) from None
    except OSError as error:
        raise NotWritten(folder, error) from error
    try:
        _take(descriptor, folder, timeout_seconds)
        _HELD.add(mark := (get_ident(), str(folder)))
        try:
            yield
        finally:
            _HELD.discard(mark)
    finally:
        os.close(descriptor)


def locked_once(
    folder: Path, *, timeout_seconds: float = LOCK_TIMEOUT_SECONDS
) -> AbstractContextManager[None]:
    """Hold the lock of `folder` as `locked_folder` does; it may be this thread's already.

    To wait for a lock of one's own would be for ever.
    """
    if (get_ident(), str(folder)) in _HELD:
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


def write_atomically(path: Path, data: bytes, *, mode: int = 0o644, durable: bool = True) -> None:
    """Replace the whole of `path` by `data`, or leave it as it is.

    A reader, and a machine that loses power, sees the old bytes or the new
    ones; the machine only with `durable`. An existing file keeps its mode;
    `mode` is for a new one. Raises NotWritten.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(6).hex()}.tmp")
    if (get_ident(), str(path.parent)) in _HELD:  # nobody else writes here now
        _sweep(path)
    try:
        try:
            _write_new(temporary, data, _mode_of(path, mode), durable=durable)
            temporary.replace(path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        if durable:
            sync_folder(path.parent)
    except OSError as error:
        raise NotWritten(path, error) from error


def _sweep(path: Path) -> None:
    """Remove the drafts of `path` that killed writers have left.

    Only under the lock of its folder: whoever writes a file there holds it, so
    nobody is writing one of them now.
    """
    with suppress(OSError):
        for name in os.listdir(path.parent):  # noqa: PTH208 - every write does this
            if name.startswith(f".{path.name}.") and name.endswith(".tmp"):
                os.unlink(path.parent / name)  # noqa: PTH108


def write_new(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Make `path` with the whole of `data`, never over another file.

    Raises FileExistsError where there is one, NotWritten.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(6).hex()}.tmp")
    try:
        try:
            _write_new(temporary, data, mode)
            os.link(temporary, path)
        finally:
            with suppress(OSError):
                temporary.unlink()
        sync_folder(path.parent)
    except FileExistsError:
        raise
    except OSError as error:
        raise NotWritten(path, error) from error


def _mode_of(path: Path, otherwise: int) -> int:
    try:
        return path.stat().st_mode & 0o7777
    except FileNotFoundError:
        return otherwise


def _write_new(path: Path, data: bytes, mode: int, *, durable: bool = True) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(descriptor, mode)
        _write_all(descriptor, data)
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def remove_empty(folder: Path) -> None:
    """Remove `folder` and the folders below it as far as they are empty; no file ever goes."""
    for path, _, _ in os.walk(folder, topdown=False):
        with suppress(OSError):
            Path(path).rmdir()


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` survive a loss of power. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def append_durably(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Add `data` at the end of `path` by one `O_APPEND` write, and make it durable.

    Two writers never mix; where the disk fills up midway, what was there is
    restored as long as nobody else appends, so callers hold the folder's
    lock. Raises NotWritten, NotAFile.
    """
    try:
        descriptor = open_regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, mode)
        try:
            _append(descriptor, data)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise NotWritten(path, error) from error


def _append(descriptor: int, data: bytes) -> None:
    before = os.fstat(descriptor).st_size
    try:
        _write_all(descriptor, data)
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, before)
        raise
