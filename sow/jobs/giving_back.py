"""Giving our own queue file its name back, which another file had taken.

A process may still have it open, with a log that is gone: as it ends, SQLite writes that log into
the file, if that has its name again, over all that others have committed since. So the file comes
back as a copy, which is another file to SQLite. Only where its log and the log's index
still lie here, and belong to it, do all go on with the same file.
"""

import os
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path

from sow.errors import QueueError
from sow.files import write_atomically
from sow.jobs.putting_aside import UNPROVEN, move_aside
from sow.jobs.queue_files import connect, refuse_foreign_log
from sow.jobs.queue_owner import names_here
from sow.paths import Workspace

COPY_SECONDS = 5.0


def give_back(own: Path, log: list[Path], workspace: Workspace) -> None:
    """Give our own file the queue's name, at which nothing lies. The caller holds the lock.

    `log`: the paths of its log and of the log's index. Raises OSError, NoSecret.
    """
    path = workspace.queue_db
    write_atomically(path, own.read_bytes(), mode=0o600)  # is none of ours before it is named
    try:
        refuse_foreign_log(path)
    except QueueError:
        move_aside(path, log, kind=UNPROVEN)
    if all(os.path.lexists(file) for file in log):
        _rename(own, path)
        return
    _copy_at_rest(own, path, has_log=os.path.lexists(log[0]))
    move_aside(path, log if not os.path.lexists(log[0]) else log[1:], kind=UNPROVEN)
    # That by which the file is proved comes last: nobody commits to it before.
    for name in reversed(names_here(workspace)):
        _rename(path, workspace.run / name)


def _copy_at_rest(own: Path, path: Path, *, has_log: bool) -> None:
    """Copy a file; while it is written, copy it again. With its log it need not be whole."""
    deadline = time.monotonic() + COPY_SECONDS
    while True:
        before = own.stat()
        write_atomically(path, own.read_bytes(), mode=0o600)
        after = own.stat()
        is_at_rest = (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size)
        if (is_at_rest and (has_log or _is_whole(path))) or time.monotonic() >= deadline:
            return  # one that is damaged is told as it is opened


def _is_whole(path: Path) -> bool:
    with suppress(sqlite3.Error), closing(connect(path, seconds=0, immutable=True)) as connection:
        return [row[0] for row in connection.execute("pragma quick_check(1)")] == ["ok"]
    return False


def _rename(path: Path, name: Path) -> None:
    """Have a name be one of another file, at once."""
    draft = name.with_name(f".{name.name}")
    draft.unlink(missing_ok=True)
    os.link(path, draft)
    draft.replace(name)
