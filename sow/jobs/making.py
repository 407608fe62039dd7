"""How the queue's file comes to be: made new, or brought up to date from an earlier form.

Owns both, under one lock on the folder, so that two processes never do either
at once; a process that is killed leaves what was there. Before an older file
is changed, a copy of it is kept beside it.
"""

import filecmp
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path

from sow import __version__
from sow.errors import QueueError
from sow.files import sync_folder
from sow.jobs.faults import SUFFIXES
from sow.jobs.migrations import take_step
from sow.jobs.private_folders import make_private
from sow.jobs.putting_aside import locked_run, move_aside
from sow.jobs.queue_files import begin_count, connect, count_commit, format_of
from sow.jobs.queue_owner import JOURNAL, all_names, give_names, sign_content
from sow.jobs.run_names import job_numbers
from sow.jobs.store import FIRST_FORMAT, FORMAT
from sow.jobs.unproven_queue import put_place
from sow.paths import Workspace
from sow.state.kept import keeper_hooks

DRAFT = ".queue-draft-"
NEW_NAME = "update control set value = lower(hex(randomblob(6))) where name = 'file_id'"
"""A cursor names the file that it was told of, by this: each file has its own."""


def make_queue(workspace: Workspace) -> None:
    """Make the file under another name and move it in place, so that nobody sees half of it.

    What an earlier file has left beside it is put aside first: SQLite would
    replay it into the new one. Raises QueueError.
    """
    try:
        for folder in (workspace.workers, workspace.waiters):
            make_private(folder, below=workspace.sow)
        with locked_run(workspace.run):
            if workspace.queue_db.exists():
                return  # another process was first; its file is as good
            _put_leftovers_aside(workspace)
            with _draft(workspace.run) as draft:
                _write_new(draft, workspace)
                give_names(draft, workspace)
                with suppress(FileExistsError):
                    os.link(draft, workspace.queue_db)
    except (OSError, sqlite3.Error) as error:
        raise QueueError(
            f"cannot make the queue file {workspace.queue_db}: {error}",
            hint="Check the disk's free space and the permissions of .sow, then run the command"
            " again.",
        ) from error


def bring_up_to_date(connection: sqlite3.Connection, path: Path) -> None:
    """Take an older file to this sow's form, a transaction for each step; keep a copy first.

    Raises QueueError; the file is then in the form that it had, or in a later
    one whole.
    """
    kept = False
    try:
        with locked_run(path.parent):
            while format_of(connection) < FORMAT:
                connection.execute("begin immediate")
                version = format_of(connection)  # another process may have been first
                if version < FORMAT:
                    if not kept:
                        _keep_copy(path, version)
                        kept = True
                    take_step(connection, version + 1)
                    note_maker(connection)
                    count_commit(connection)
                connection.execute("commit")
    except (OSError, sqlite3.Error) as error:
        with suppress(sqlite3.Error):
            connection.rollback()
        raise QueueError(
            f"the queue file {path} could not be upgraded from format {format_of(connection)} to"
            f" {FORMAT}: {error}",
            hint="The file is intact in its old format. Free space on the disk, or wait until"
            " no other process uses the file (`fuser` prints their ids). Then run the"
            " command again.",
        ) from error


def note_maker(connection: sqlite3.Connection) -> None:
    """Write down which sow has made the file's present form, in the transaction that is open."""
    connection.execute("insert or replace into control values ('made_by', ?)", (__version__,))


@contextmanager
def _draft(run: Path) -> Iterator[Path]:
    """Give the name of a file to prepare, for its owner alone; it is gone afterwards.

    Drafts of processes that were killed go first: under the lock they are nobody's.
    """
    for left in run.glob(f"{DRAFT}*"):
        left.unlink(missing_ok=True)
    draft = run / f"{DRAFT}{os.urandom(16).hex()}.db"
    os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        yield draft
    finally:
        for suffix in SUFFIXES:
            draft.with_name(draft.name + suffix).unlink(missing_ok=True)


def _write_new(draft: Path, workspace: Workspace) -> None:
    draft.write_bytes(_blank())
    with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
        connection.execute("pragma journal_mode=wal")
        connection.execute("begin")
        connection.execute(NEW_NAME)
        _start_ids_after_folders(connection, workspace)
        note_maker(connection)
        put_place(connection, workspace)
        sign_content(connection, workspace.run)
        begin_count(connection)
        connection.execute("commit")


@cache
def _blank() -> bytes:
    """Return a file of this form without a record.

    It is put together in memory, so that the disk sees each page once, and a
    process that makes many queues runs the statements once. What no two files
    may have in common is not of it: whoever takes it gives that to the file.
    """
    from huey.storage import SqliteStorage  # heavy, and for a new file alone

    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statement in SqliteStorage.ddl:
            connection.execute(statement)
        for number in range(FIRST_FORMAT, FORMAT + 1):
            take_step(connection, number)
        return connection.serialize()


def _start_ids_after_folders(connection: sqlite3.Connection, workspace: Workspace) -> None:
    """Never reuse the number of a job whose output still lies in `run/jobs`."""
    last = max(job_numbers(workspace.jobs), default=0)
    if last:
        connection.execute("insert into sqlite_sequence values ('job', ?)", (last,))


def _put_leftovers_aside(workspace: Workspace) -> None:
    """Move what is left of a file that is gone out of the new one's way: log, index, proofs."""
    path = workspace.queue_db
    left = [path.with_name(path.name + suffix) for suffix in (*SUFFIXES[1:], JOURNAL)]
    names = all_names(workspace.run)
    was_removed = any(name.lstat().st_nlink <= len(names) for name in names)  # else it was moved
    folder = move_aside(path, [*left, *names])
    if was_removed:
        words = (
            f"was removed: what is left of it was moved to {folder}, and sow created a new queue"
        )
        keeper_hooks.OURS.tell(f"the queue file {path} {words}")


def _keep_copy(path: Path, version: int) -> None:
    """Keep the file as it is now beside it, whole and on disk; no earlier copy is written over.

    The caller holds the write lock, so nothing changes meanwhile. Raises
    OSError, sqlite3.Error.
    """
    with _draft(path.parent) as draft:
        with closing(connect(path, seconds=0)) as source, closing(sqlite3.connect(draft)) as copy:
            source.backup(copy)
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        number, kept = 1, path.with_name(f"{path.name}.format-{version}")
        while kept.exists():
            if filecmp.cmp(draft, kept, shallow=False):
                return  # of a process that was killed after it
            number += 1
            kept = path.with_name(f"{path.name}.format-{version}-{number}")
        os.link(draft, kept)
        sync_folder(path.parent)
