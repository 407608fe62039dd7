"""Writing a file whole or not at all, and adding to a log.

Owns the protocol of every write below `.sow/project`: a temporary file renamed
into place, one `O_APPEND` write for logs, and what makes both survive a loss of
power. Knows nothing of what the files hold.
"""

import errno
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from sow.files.file_errors import NotWritten
from sow.files.inside import FLAGS, PLAIN, opened_folder, refuse_leading_out, remove_file
from sow.files.locking import is_held
from sow.files.reading import open_regular

DRAFT_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""With these nothing that somebody puts into a draft's place is followed, or waited for."""


def write_atomically(
    path: Path,
    data: bytes,
    *,
    mode: int = 0o644,
    durable: bool = True,
    still: Callable[[], bool] | None = None,
    modified_at_ns: int | None = None,
    written: Path | None = None,
) -> bool:
    """Replace the whole of `path` by `data`, or leave it as it is; return whether it was replaced.

    A reader, and a machine that loses power, sees the old bytes or the new
    ones; the machine only with `durable`. An existing file keeps its mode;
    `mode` is for a new one. `still` is asked last, when all but the rename is done, and a no leaves
    the file as it is: for a file that others write without our lock. `modified_at_ns` is when it is
    to have been changed, in nanoseconds; else it is now. `written` is where `write_beside` has
    written `data`. Raises NotWritten, LeadsOut.
    """
    try:
        with opened_folder(path.parent) as folder:
            if written is not None and _is_in_place(folder, written.name, path.name):
                return True
            if is_held(path.parent):  # nobody else writes here now
                _sweep(folder, path.name)
            when = modified_at_ns
            return _replace(folder, path, data, mode, durable=durable, still=still, when=when)
    except OSError as error:
        raise NotWritten(path, error) from error


def _replace(
    folder: int,
    path: Path,
    data: bytes,
    mode: int,
    *,
    durable: bool = True,
    still: Callable[[], bool] | None = None,
    when: int | None = None,
) -> bool:
    """Replace a file in an open folder, unless `still` says no. Raises OSError, LeadsOut."""
    temporary = _draft_of(path)
    try:
        _write_new(temporary, data, _mode_in(folder, path, mode), durable=durable, folder=folder)
        if when is not None:
            os.utime(temporary, ns=(when, when), dir_fd=folder)
        if still is not None and not still():
            os.unlink(temporary, dir_fd=folder)
            return False
        os.rename(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
    if durable:
        os.fsync(folder)
    return True


def write_beside(path: Path, data: bytes) -> Path:
    """Write `data`, which is to take the place of `path`, beside it; return where.

    So `write_atomically` has only to sync and rename it. No lock is needed: whoever holds that of
    the folder may take it for a killed writer's, and remove it; then it is written anew. Whoever
    does not use it discards it. Raises NotWritten, LeadsOut.
    """
    try:
        with opened_folder(path.parent) as folder:
            draft, mode = _draft_of(path), _mode_in(folder, path, 0o644)
            try:
                _write_new(draft, data, mode, durable=False, folder=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(draft, dir_fd=folder)
                raise
    except OSError as error:
        raise NotWritten(path, error) from error
    return path.with_name(draft)


def discard_written(written: Path) -> None:
    """Remove what `write_beside` has written, unless it was put in place."""
    with suppress(OSError):
        remove_file(written)


def _is_in_place(folder: int, draft: str, name: str) -> bool:
    """Put a draft in its place, on disk; False where it is not there any more."""
    try:
        _sync(os.open(draft, DRAFT_FLAGS, dir_fd=folder))
        os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except FileNotFoundError:
        return False
    os.fsync(folder)
    return True


def _draft_of(path: Path) -> str:
    return f".{path.name}.{os.getpid()}-{os.urandom(6).hex()}.tmp"


def _sweep(folder: int, name: str) -> None:
    """Remove the drafts of a file that killed writers have left.

    Only under the lock of its folder: whoever writes a file there holds it, so
    nobody is writing one of them now.
    """
    with suppress(OSError):
        for each in os.listdir(folder):
            if each.startswith(f".{name}.") and each.endswith(".tmp"):
                os.unlink(each, dir_fd=folder)


def write_new(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Make `path` with the whole of `data`, never over another file.

    Raises FileExistsError where there is one, NotWritten, LeadsOut.
    """
    temporary = _draft_of(path)
    try:
        with opened_folder(path.parent) as folder:
            try:
                _write_new(temporary, data, mode, folder=folder)
                os.link(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
            finally:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
            os.fsync(folder)
    except FileExistsError:
        raise
    except OSError as error:
        raise NotWritten(path, error) from error


def write_in(
    folder: int, path: Path, data: bytes, *, mode: int = 0o644, durable: bool = True
) -> None:
    """Replace the whole of a file in an open folder, as `write_atomically` does.

    No path is followed, only the name of `path` counts: it happens in that very folder, though
    somebody puts a link into its place or the file's meanwhile. The caller holds the folder's
    lock, and sweeps what killed writers have left. Raises NotWritten, LeadsOut.
    """
    try:
        _replace(folder, path, data, mode, durable=durable)
    except OSError as error:
        raise NotWritten(path, error) from error


def write_first_in(folder: int, path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Do as `write_in`, not durably and without a draft where nothing has the name yet.

    A kill may leave a part of it: for a folder that nobody reads before all of it is written.
    Raises NotWritten, LeadsOut.
    """
    try:
        _write_new(path.name, data, mode, durable=False, folder=folder)
    except FileExistsError:
        write_in(folder, path, data, mode=mode, durable=False)
    except OSError as error:
        with suppress(OSError):
            os.unlink(path.name, dir_fd=folder)  # what there was no room for takes none
        raise NotWritten(path, error) from error


def write_folder(
    above: int, name: str, files: Mapping[str, bytes], *, empty: Sequence[str] = (), durable: bool
) -> None:
    """Make a folder in an open one, with `files` in it, given by their paths there.

    It is a draft under a new name, which nobody else looks into. `empty` are folders in it that
    need not have a file. Raises OSError.
    """
    parts = [path.split("/")[:-1] for path in files if "/" in path]
    inner = {"/".join(each[: end + 1]) for each in parts for end in range(len(each))}
    os.mkdir(name, dir_fd=above)
    folder = os.open(name, FLAGS, dir_fd=above)
    try:
        for path in sorted({*empty, *inner}):
            os.mkdir(path, dir_fd=folder)
        for path, data in files.items():
            _write_new(path, data, 0o644, durable=durable, folder=folder)
        for path in (*inner, ".") if durable else ():
            _sync(os.open(path, FLAGS, dir_fd=folder))
    finally:
        os.close(folder)


def _mode_in(folder: int, path: Path, otherwise: int) -> int:
    """Return the mode for the file that takes the place of what lies there. Raises LeadsOut."""
    try:
        mode = os.stat(path.name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return otherwise
    if stat.S_ISLNK(mode):  # it is replaced, and stays one only where its writer has followed it
        refuse_leading_out(path)
    return stat.S_IMODE(mode) if stat.S_ISREG(mode) else otherwise


def _write_new(name: str, data: bytes, mode: int, *, durable: bool = True, folder: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(name, flags, 0o600, dir_fd=folder)
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


def put_in_place(above: int, draft: str, folder: Path) -> None:
    """Rename a draft that lies in an open folder to `folder`, which lies there too.

    Empty folders that are in the way go: a change of branches leaves them behind. Raises OSError,
    LeadsOut.
    """
    try:
        os.rename(draft, folder.name, src_dir_fd=above, dst_dir_fd=above)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        remove_empty(folder)
        os.rename(draft, folder.name, src_dir_fd=above, dst_dir_fd=above)


def remove_empty(folder: Path) -> None:
    """Remove `folder` and the folders below it as far as they are empty; no file ever goes.

    Raises LeadsOut.
    """
    with suppress(OSError), opened_folder(folder.parent) as above:
        for _, names, _, below in os.fwalk(folder.name, topdown=False, dir_fd=above):
            for name in names:
                _remove_if_empty(name, below)
        _remove_if_empty(folder.name, above)


def _remove_if_empty(name: str, folder: int) -> None:
    with suppress(OSError):
        os.rmdir(name, dir_fd=folder)


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` survive a loss of power. Raises OSError."""
    _sync(os.open(folder, PLAIN))


def _sync(descriptor: int) -> None:
    """Sync an open file or folder and close it. Raises OSError."""
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file_system(folder: Path) -> None:
    """Make all that was written to the file system of `folder` survive a loss of power.

    For many files at once: it waits also for what other processes have written. Raises OSError.
    """
    import ctypes  # heavy, and for many files alone

    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:  # only Linux has it
        os.sync()
        return
    descriptor = os.open(folder, PLAIN)
    try:
        if syncfs(descriptor):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(folder))
    finally:
        os.close(descriptor)


def append_whole(path: Path, data: bytes, *, mode: int = 0o644, durable: bool = True) -> None:
    """Add `data` at the end of `path` by one `O_APPEND` write, and make it durable if asked.

    Two writers never mix; where the disk fills up midway, what was there is
    restored as long as nobody else appends, so callers hold the folder's
    lock. Raises NotWritten, NotAFile, LeadsOut.
    """
    try:
        descriptor = open_regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, mode)
        try:
            _append(descriptor, data, durable=durable)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise NotWritten(path, error) from error


def _append(descriptor: int, data: bytes, *, durable: bool) -> None:
    before = os.fstat(descriptor).st_size
    try:
        _write_all(descriptor, data)
        if durable:
            os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, before)
        raise
