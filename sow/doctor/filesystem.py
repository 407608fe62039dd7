"""Whether the disk under `.sow` can carry a queue: its kind, its locks, its permissions.

Writes nothing. Which file system lies where is `sow.processes.disks`' to tell.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sow.files.flock import try_lock
from sow.findings import Finding, Level
from sow.paths import Workspace
from sow.processes.disks import MOUNTINFO, filesystem_of, is_shared


def examine_filesystem(workspace: Workspace) -> Iterator[Finding]:
    """Yield what is found of the disk under the workspace."""
    folder = workspace.run if workspace.run.is_dir() else workspace.sow
    if MOUNTINFO.exists():
        yield _kind(folder, MOUNTINFO.read_text("utf-8", "surrogateescape"))
    yield _locks(workspace.sow)
    yield from _no_folders(workspace)
    yield from _permissions(workspace)


def _kind(folder: Path, mountinfo: str) -> Finding:
    kind = filesystem_of(os.path.realpath(folder), mountinfo)
    facts = {"path": str(folder), "filesystem": kind}
    if not is_shared(kind):
        text = f"{folder} is on a local file system ({kind})"
        return Finding(check="filesystem", level=Level.OK, text=text, facts=facts)
    text = f"{folder} is on {kind}, where file locks are not reliable"
    remedy = "Keep the checkout on a local disk: SQLite and flock need one."
    return Finding(check="filesystem", level=Level.WARNING, text=text, remedy=remedy, facts=facts)


def _locks(folder: Path) -> Finding:
    fault = lock_fault(folder)
    if not fault:
        return Finding(check="locks", level=Level.OK, text="File locks (flock) work on it")
    text = f"File locks (flock) do not work in {folder}: {fault}"
    remedy = "Keep the checkout on a local disk."
    return Finding(check="locks", level=Level.ERROR, text=text, remedy=remedy)


def lock_fault(folder: Path) -> str:
    """Return why an exclusive `flock` of `folder` keeps nobody out; nothing if it does.

    It is held for a moment. That somebody else holds it proves it as well.
    """
    try:
        with _opened(folder) as first, _opened(folder) as second:
            if not (try_lock(first) and try_lock(second)):
                return ""
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return "two processes held the lock at the same time"


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _no_folders(workspace: Workspace) -> Iterator[Finding]:
    """Yield what stands where workers and calls make their folders, and is none."""
    for folder in (workspace.run, workspace.workers, workspace.waiters, workspace.jobs):
        if os.path.lexists(folder) and not folder.is_dir():
            text = f"{folder} is not a folder, but agents need one there"
            remedy = "Move it away: sow creates the folder when it needs it."
            yield Finding(check="folder", level=Level.ERROR, text=text, remedy=remedy)


def _permissions(workspace: Workspace) -> Iterator[Finding]:
    folders = [folder for folder in (workspace.sow, workspace.run) if folder.is_dir()]
    for folder in folders:
        if not os.access(folder, os.W_OK | os.X_OK):
            text = f"{folder} is not writable"
            remedy = "Make it writable for you, or mount the disk read-write."
            yield Finding(check="permissions", level=Level.ERROR, text=text, remedy=remedy)
    if workspace.run.is_dir() and workspace.run.stat().st_mode & 0o077:
        text = f"other users can read {workspace.run}, which contains prompts and output"
        remedy = f"chmod 700 {workspace.run}"
        yield Finding(check="permissions", level=Level.WARNING, text=text, remedy=remedy)
