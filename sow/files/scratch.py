"""Temporary folders of ours, and what killed processes have left of them.

Each is locked by its maker for as long as that works with it. The lock ends
with the process, however that ends: who gets it knows that nobody works there.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sow.files.flock import lock_opened

KINDS = ("git", "index", "sparse", "history")
SUFFIX = ".tmp"
OURS = re.compile(rf"sow-(?:{'|'.join(KINDS)})-[a-z0-9_]+{re.escape(SUFFIX)}")
"""Older versions left out the suffix, and held no lock."""
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
    top = Path(tempfile.gettempdir())
    try:
        names = os.listdir(top)  # noqa: PTH208 - a text is what is wanted
    except OSError:
        return []
    return [top / name for name in sorted(names) if OURS.fullmatch(name) and _swept(top / name)]


def _made(kind: str) -> tuple[Path, int | None]:
    """Return a new folder and its lock; None where the file system has no locks of this kind."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"sow-{kind}-", suffix=SUFFIX))
        try:
            lock = _locked(folder)
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
            return Path(tempfile.mkdtemp(prefix=f"sow-{kind}-")), None
        if lock is not None:
            return folder, lock


def _locked(folder: Path) -> int | None:
    """Return a folder, open and locked; None where it is gone, or another sweeps it."""
    try:
        return lock_opened(
            lambda: os.open(folder, READING),
            lambda opened: os.path.samestat(os.fstat(opened), folder.lstat()),
            0,
        )
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
