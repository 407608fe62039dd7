"""Temporary folders of ours, and what killed processes have left of them.

Each is locked by its maker for as long as that works with it. The lock ends
with the process, however that ends: who gets it knows that nobody works there.
"""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import ENOENT
from functools import lru_cache
from pathlib import Path

from sow.files.flock import lock_existing

KINDS = ("git", "index", "sparse", "history")
SUFFIX = ".tmp"
OURS = re.compile(rf"sow-(?:{'|'.join(KINDS)})-[a-z0-9_]+\{SUFFIX}")
"""Older versions left out the suffix, and held no lock."""
PLACES = ("/tmp", "/var/tmp", "/usr/tmp")  # noqa: S108 - as Python's `tempfile` has them
"""Where temporary folders are made if no variable names a place."""
READING = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def scratch_folder(kind: str) -> Iterator[Path]:
    """Make a temporary folder for the length of the block. Raises OSError."""
    folder, lock = _made(kind)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # what stays is swept later
        if lock is not None:
            os.close(lock)


def sweep_scratch() -> list[Path]:
    """Delete the temporary folders whose makers have died; return them.

    Only a folder of this user that nobody holds locked goes. No link is followed.
    """
    top = Path(temporary_place())
    try:
        names = os.listdir(top)  # noqa: PTH208 - a text is what is wanted
    except OSError:
        return []
    return [top / name for name in sorted(names) if OURS.fullmatch(name) and _swept(top / name)]


def temporary_place() -> str:
    """Return the folder for temporary files, which is that of Python's `tempfile`.

    That would bring `random`, `bisect` and `weakref` along (2 ms of a command). Raises OSError.
    """
    return _place(os.environ.get("TMPDIR"), os.environ.get("TEMP"), os.environ.get("TMP"))


@lru_cache(maxsize=1)
def _place(*named: str | None) -> str:
    for place in (*filter(None, named), *PLACES, os.curdir):
        with suppress(OSError):  # the working folder is gone
            whole = os.path.abspath(place)  # noqa: PTH100 - no link is followed
            if _takes_files(whole):
                return whole
    raise FileNotFoundError(ENOENT, "no usable folder for temporary files", str(PLACES))


def _takes_files(folder: str) -> bool:
    """Whether a file can be made in a folder, and be written to: not so on a full disk."""
    path = f"{folder}/sow-{os.urandom(8).hex()}"
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError:
        return False
    try:
        return os.write(file, b"blat") > 0
    except OSError:
        return False
    finally:
        os.close(file)
        os.unlink(path)  # noqa: PTH108 - as above


def _new_folder(kind: str, suffix: str = SUFFIX) -> Path:
    while True:
        folder = Path(f"{temporary_place()}/sow-{kind}-{os.urandom(6).hex()}{suffix}")
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
            return folder


def _made(kind: str) -> tuple[Path, int | None]:
    """Return a new folder and its lock; None where the file system has no locks of this kind."""
    while True:
        folder = _new_folder(kind)
        try:
            lock = _locked(folder)
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
            return _new_folder(kind, suffix=""), None
        if lock is not None:
            return folder, lock


def _locked(folder: Path) -> int | None:
    """Return a folder, open and locked; None where it is gone, or another sweeps it."""
    try:
        return lock_existing(folder, READING)
    except FileNotFoundError:
        return None


def _swept(folder: Path) -> bool:
    try:
        lock = _locked(folder)
    except OSError:
        return False
    if lock is None:
        return False
    try:
        if os.fstat(lock).st_uid != os.geteuid():
            return False
        shutil.rmtree(folder, ignore_errors=True)
        return not folder.exists()
    finally:
        os.close(lock)
