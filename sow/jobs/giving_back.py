"""Giving our own queue file its name back, which another file had taken.

A process may still have it open, with a log that is gone: as it ends, SQLite writes that log into
the file, if that has its name again, over all that others have committed since. So the file comes
back as a copy, which is another file to SQLite. Only where its log and the log's index
still lie here, belong to it, and are those that all others have open, do all go on with
the same file.
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


def give_back(own: Path, log: list[Path], workspace: Workspace) -> bool:
    """Give our own file the queue's name, at which nothing lies. The caller holds the lock.

    `log`: the paths of its log and of the log's index. Tell whether all that was committed is
    there: not where a process has another log. Raises OSError, NoSecret.
    """
    path = workspace.queue_db
    write_atomically(path, own.read_bytes(), mode=0o600)  # is none of ours before it is named
    try:
        refuse_foreign_log(path)
    except QueueError:
        move_aside(path, log, kind=UNPROVEN)
    has_other_log = _is_open_with_another(own, log[1])
    if all(os.path.lexists(file) for file in log) and not has_other_log:
        _rename(own, path)
        return True
    _copy_at_rest(own, path, has_log=os.path.lexists(log[0]))
    move_aside(path, log if not os.path.lexists(log[0]) else log[1:], kind=UNPROVEN)
    # That by which the file is proved comes last: nobody commits to it before.
    for name in reversed(names_here(workspace)):
        _rename(path, workspace.run / name)
    return not has_other_log


def _is_open_with_another(own: Path, index: Path) -> bool:
    """Whether a process of ours has a file open, and not this index of its log."""
    file = _key(own.stat())
    with_it = _key(index.stat()) if index.exists() else None
    with os.scandir("/proc") as processes:
        for process in processes:
            open_files = _open_files(process) if process.name.isdigit() else set()
            if file in open_files and with_it not in open_files:
                return True
    return False


def _open_files(process: "os.DirEntry[str]") -> set[tuple[int, int]]:
    """Return what a process has open; nothing where we may not look, or it has ended."""
    found = set()
    with suppress(OSError), os.scandir(f"{process.path}/fd") as entries:
        for entry in entries:
            with suppress(OSError):
                found.add(_key(entry.stat()))
    return found


def _key(facts: os.stat_result) -> tuple[int, int]:
    return facts.st_dev, facts.st_ino


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
