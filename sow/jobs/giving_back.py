"""Giving our own queue file its name back, which another file had taken.

A process may still have it open, with a log that is gone: as it ends, SQLite writes that log into
the file, if that has its name again, over all that others have committed since. So the file comes
back as a copy, which is another file to SQLite. Only where its log and the log's index
still lie here, belong to it, and are those that all others have open, do all go on with
the same file.

Whoever dies in between leaves the foreign file under the queue's name, or ours with a proof: the
name is never free, so nobody begins a new queue meanwhile.
"""

import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from sow.errors import QueueError
from sow.files import discard_tree
from sow.files.inside import PRIVATE
from sow.jobs.faults import SUFFIXES
from sow.jobs.open_files import Place, is_open_without, place_of
from sow.jobs.putting_aside import UNPROVEN, move_aside
from sow.jobs.queue_files import connect, refuse_foreign_log
from sow.jobs.queue_owner import names_here
from sow.paths import Workspace

COPY_SECONDS = 5.0
FOLDER = ".queue-own"
"""Where the own file, its log and its index have names meanwhile by which SQLite opens them."""


def give_back(own: Path, log: list[Path], workspace: Workspace) -> bool:
    """Give our own file the queue's name, in the place of what lies there. The caller has the lock.

    `log`: the paths of its log and of the log's index. Tell whether all that was committed is
    there: not where a process has another log. Raises OSError, NoSecret.
    """
    path = workspace.queue_db
    with _folder(workspace.run) as folder:
        linked = folder / path.name
        os.link(own, linked)
        if not _take_log_along(log, linked):
            move_aside(path, log, kind=UNPROVEN)
        misses_a_log = _misses_a_log(own, *log)
        if all(os.path.lexists(file) for file in log) and not misses_a_log:
            linked.replace(path)
            return True
        with _no_commits(linked):
            copy = _copy_at_rest(linked)
            by_folder, *by_place = names_here(workspace)
            for name in by_place:
                _rename(copy, workspace.run / name)
            _rename(copy, path)
            move_aside(path, log, kind=UNPROVEN)
            # That by which the file is proved comes last: nobody commits to it before.
            _rename(copy, workspace.run / by_folder)
    return not misses_a_log


@contextmanager
def _folder(run: Path) -> Iterator[Path]:
    """Give an empty folder for the length of the block; one of who was killed goes first."""
    folder = run / FOLDER
    discard_tree(folder)
    folder.mkdir(mode=PRIVATE)
    try:
        yield folder
    finally:
        discard_tree(folder)


def _take_log_along(log: list[Path], linked: Path) -> bool:
    """Link log and index to the file that has a name of its own; not where they are another's."""
    links = [linked.with_name(linked.name + suffix) for suffix in SUFFIXES[1:]]
    there = [(file, link) for file, link in zip(log, links, strict=True) if os.path.lexists(file)]
    if not all(stat.S_ISREG(os.lstat(file).st_mode) for file, _ in there):
        return False
    for file, link in there:
        os.link(file, link)
    try:
        refuse_foreign_log(linked)
    except QueueError:
        for _, link in there:
            link.unlink()
        return False
    return True


def _misses_a_log(own: Path, log: Path, index: Path) -> bool:
    """Whether a log of the file may be gone: one that a process has open, or whose index is left.

    SQLite removes the index first. It removes the log alone where the file in the place of ours
    was empty as it was opened: one that is only being written (sqlite 3.40, pager.c).
    """
    at_log, at_index = _place(log), _place(index)
    if at_log is None and at_index is not None:
        return True
    own_place = place_of(own.stat())
    return is_open_without(own_place, at_log, at_index)


def _place(path: Path) -> Place | None:
    try:
        return place_of(path.stat())
    except FileNotFoundError:
        return None


@contextmanager
def _no_commits(linked: Path) -> Iterator[None]:
    """Let nobody who has a file open with the log that lies here commit into it meanwhile.

    Who waits for that looks at the file's name afterwards, and sees that it is another's.
    """
    with closing(connect(linked, seconds=COPY_SECONDS)) as connection:
        with suppress(sqlite3.Error):  # one that is damaged comes back as it is
            connection.execute("begin immediate")
        yield


def _copy_at_rest(linked: Path) -> Path:
    """Copy a file with its log; copy it again while whoever has another log writes it in."""
    copy = linked.with_name("copy.db")
    deadline = time.monotonic() + COPY_SECONDS
    while True:
        copy.unlink(missing_ok=True)
        os.close(os.open(copy, os.O_CREAT | os.O_EXCL, 0o600))
        try:
            with closing(connect(linked, seconds=0)) as file, closing(sqlite3.connect(copy)) as to:
                file.backup(to)
        except sqlite3.Error:
            shutil.copyfile(linked, copy)
        if _is_whole(copy) or time.monotonic() >= deadline:
            return copy  # one that is damaged is told as it is opened


def _is_whole(path: Path) -> bool:
    with suppress(sqlite3.Error), closing(connect(path, seconds=0, immutable=True)) as connection:
        return [row[0] for row in connection.execute("pragma quick_check(1)")] == ["ok"]
    return False


def _rename(path: Path, name: Path) -> None:
    """Have a name be one of another file, at once."""
    draft = path.with_name("name")
    os.link(path, draft)
    draft.replace(name)
