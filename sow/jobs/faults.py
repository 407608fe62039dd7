"""What can be wrong with the queue's file, each with what it means and what to do.

Owns the words. A remedy names every file that has to go and the command that
puts them aside; nothing is ever deleted. Opens no file.
"""

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from sow import __version__
from sow.errors import ExitCode, QueueError
from sow.files import LeadsOut

ASIDE = "aside"
"""The folder beside the queue's file that keeps what was put aside."""
SUFFIXES = ("", "-wal", "-shm")
"""The three files of a queue: the file itself, its log of newer pages, and the index of that."""
GONE_ON = "Running agents continue; tasks, logs and sessions are stored elsewhere and are kept."

DAMAGED = frozenset(
    {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_FORMAT}
)
"""SQLite's codes for a file that is not whole; SQLITE_ERROR is a table that is not there."""


class QueueChanged(QueueError):
    """The file that this process has opened is not its queue any more: it may use it no longer."""

    has_lost_records = False
    """Whether what was on record of our jobs is gone: no worker can adopt them by it."""


class QueueLeadsOut(QueueError):
    """A link leads from the queue's place out of the repository: nothing is read or written there.

    Its exit code is that of the same fault anywhere else.
    """

    exit_code = ExitCode.STATE

    def __init__(self, error: LeadsOut) -> None:
        # Only a queue that cannot be used needs it.
        from shlex import quote

        repair = f"rm {quote(str(error.link))}"
        super().__init__(error.message, hint=error.hint, repair=repair)


class QueueReplaced(QueueChanged):
    """The queue's file, or its write-ahead log, was removed or replaced while we had it open."""

    has_lost_records = True

    def __init__(self, path: Path, tasks: Sequence[str] = ()) -> None:
        self.path = path
        shows = [f"`sow task show {task}`" for task in tasks] or ["`sow task list`"]
        while_ = "while this call waited" if tasks else "while sow was using it"
        super().__init__(
            f"the queue file {path} was removed or replaced {while_}",
            hint=f"{GONE_ON} To see their state: {', '.join(shows)}. The next command uses the"
            " queue file that exists then, or creates a new one.",
        )


class QueueShared(QueueChanged):
    """A worker's queue has come to be shared: the worker has the name of no host."""

    def __init__(self) -> None:
        super().__init__(
            "the queue is shared by several hosts now, and this worker has the name of none",
            hint="Start it again: `sow worker`. It takes its agents over.",
        )


class NewerQueue(QueueChanged):
    """A newer sow has brought the queue's file into a form that this one cannot read."""

    def __init__(self, path: Path, version: int, readable: int, made_by: str | None) -> None:
        self.version = version
        maker = f"made by sow {made_by}" if made_by else "made by a newer sow"
        wanted = f"sow {made_by} or newer" if made_by else "the sow that made it"
        super().__init__(
            f"the queue file {path} has format {version}, {maker}; "
            f"this sow {__version__} reads up to {readable}",
            hint=f"Use {wanted}. The file was not changed, and running agents continue.",
        )


class QueueDamaged(QueueChanged):
    """What lies under the queue's name cannot be read as a queue, or not as a whole one."""

    has_lost_records = True

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(
            f"the queue file {path} {what}",
            repair=put_aside_command(path),
            hint="Move it and the files that belong to it away, then run the command again; sow"
            f" creates a new queue.\n    {put_aside_command(path)}\n{GONE_ON}",
        )


def put_aside_command(path: Path, suffixes: tuple[str, ...] = SUFFIXES) -> str:
    """Return the shell command that puts aside those of a queue's files that are there.

    Which are there it asks when it runs: the log and its index come and go with whoever has
    the file open.
    """
    names = " ".join(f"{path.name}{suffix}" for suffix in suffixes)
    folder = f"{ASIDE}/{aside_folder(path).name}"
    moves = f"mv $(ls -d {names} 2>/dev/null) {folder}/"
    # As above.
    from shlex import quote

    return f"(cd {quote(str(path.parent))} && mkdir -p {folder} && {moves})"


def aside_folder(path: Path, kind: str = "") -> Path:
    """Return a folder that is not there yet: what was put aside before is never written over.

    `kind` is how its name begins.
    """
    number, before = 1, f"{kind}-" if kind else ""
    while os.path.lexists(folder := path.with_name(ASIDE) / f"{before}{number}"):
        number += 1
    return folder


def unusable(path: Path, error: sqlite3.Error) -> QueueError:
    """Return what an error of SQLite means: a damaged file, a locked one, or the disk's fault."""
    code = getattr(error, "sqlite_errorcode", 0)
    if "not a database" in str(error):
        return QueueDamaged(path, "is not a SQLite database; sow did not change it")
    if code & 0xFF in DAMAGED or code == sqlite3.SQLITE_IOERR_SHORT_READ:
        return QueueDamaged(path, f"is damaged: {error}")
    if code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        hint = (
            "Another process holds its lock (`fuser` prints the process id). Nothing was"
            " changed; run the command again."
        )
    else:
        hint = (
            "Check the disk's free space and the folder's permissions, then run the command again."
        )
    return QueueError(f"the queue file {path} cannot be used: {error}", hint=hint)
