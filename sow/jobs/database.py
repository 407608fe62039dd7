"""The queue's file: how it is made, opened and changed in one transaction.

Owns the tables and the connection. Every other module of `sow.jobs` is a set
of functions over a `Database`; all of sow's SQL is in this package. Huey's own
tables stand in the same file, so that a queue row, a job and a lease change
together or not at all.

Durability: WAL with synchronous=FULL (SQLite's default), one fsync a commit.
"""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sow.errors import QueueError
from sow.jobs.migrations import FIRST_FORMAT, FORMAT, TABLES, bring_up_to_date
from sow.paths import Workspace

BUSY_SECONDS = 20.0


class Database:
    """One connection to a queue file, shared by the threads of a process.

    `transaction()` may be nested: the inner one joins the outer.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.connection = connection
        self.lock = threading.RLock()
        self._depth = 0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Change several rows together: all of it is on disk afterwards, or nothing is."""
        with self.lock:
            if self._depth:
                yield
                return
            self.run("begin immediate")
            self._depth = 1
            try:
                yield
                self.run("commit")
            except BaseException:
                self.connection.rollback()
                raise
            finally:
                self._depth = 0

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """Return all rows of a query. Raises QueueError when the file cannot be used."""
        with self._statement():
            return self.connection.execute(sql, parameters).fetchall()

    def row(self, sql: str, parameters: Sequence[Any] = ()) -> sqlite3.Row | None:
        """Return the first row of a query, if any. Raises QueueError like `rows`."""
        with self._statement():
            row: sqlite3.Row | None = self.connection.execute(sql, parameters).fetchone()
            return row

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Run one statement, in the transaction that is open or in one of its own.

        Raises QueueError when the file cannot be used, sqlite3.IntegrityError
        when a constraint forbids the change.
        """
        with self._statement():
            return self.connection.execute(sql, parameters)

    @contextmanager
    def _statement(self) -> Iterator[None]:
        """Hold the lock; tell a fault of the file (locked, full, damaged) from one of ours."""
        with self.lock:
            try:
                yield
            except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
                raise
            except sqlite3.DatabaseError as error:
                raise _unusable(self.path, error) from error

    def close(self) -> None:
        """Close the connection."""
        with self.lock:
            self.connection.close()


def open_queue(workspace: Workspace) -> Database:
    """Open the queue of a workspace and make it first where there is none.

    Raises QueueError when the file is not a queue of this sow; it is left untouched.
    """
    if not workspace.queue_db.exists():
        _make_queue(workspace)
    return _open(workspace.queue_db)


def open_existing_queue(workspace: Workspace) -> Database | None:
    """Open the queue of a workspace, or return None where nothing was ever queued."""
    return _open(workspace.queue_db) if workspace.queue_db.exists() else None


def _open(path: Path) -> Database:
    try:
        connection = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        connection.row_factory = sqlite3.Row
        version = connection.execute("pragma user_version").fetchone()[0]
    except sqlite3.Error as error:
        raise _unusable(path, error) from error
    if FIRST_FORMAT <= version < FORMAT:
        _migrate(connection)
    elif version != FORMAT:
        connection.close()
        raise QueueError(
            f"the queue file {path} has format {version}, this sow reads format {FORMAT}",
            hint="Use the sow that made it, or move .sow/run away: sessions and task states stay.",
        )
    return Database(path, connection)


def _migrate(connection: sqlite3.Connection) -> None:
    """Bring an older file up to date, in one transaction, unless another process was first."""
    connection.execute("begin immediate")
    version = connection.execute("pragma user_version").fetchone()[0]
    bring_up_to_date(connection, version)
    connection.execute("commit")


def _unusable(path: Path, error: sqlite3.Error) -> QueueError:
    text = str(error)
    if isinstance(error, sqlite3.DatabaseError) and "not a database" in text:
        return QueueError(
            f"the queue file {path} is not a SQLite database; it was left untouched",
            hint="Move it away and call again: a new queue is made, task states stay.",
        )
    return QueueError(
        f"the queue file {path} cannot be used: {text}",
        hint="Check the disk's free space and the folder's permissions, then call again.",
    )


def _make_queue(workspace: Workspace) -> None:
    """Make the file under another name and move it in place, so that nobody sees half of it."""
    import os
    import uuid

    from huey.storage import SqliteStorage

    try:
        for folder in (workspace.run, workspace.workers, workspace.waiters):
            folder.mkdir(mode=0o700, exist_ok=True)
        draft = workspace.run / f".queue-{uuid.uuid4().hex}.db"
        connection = sqlite3.connect(draft, isolation_level=None)
        try:
            connection.execute("pragma journal_mode=wal")
            connection.execute("begin")
            for statement in SqliteStorage.ddl:
                connection.execute(statement)
            for statement in TABLES.split(";\n"):
                connection.execute(statement)
            _start_ids_after_folders(connection, workspace)
            bring_up_to_date(connection, FIRST_FORMAT)
            connection.execute("commit")
        finally:
            connection.close()
        draft.chmod(0o600)
        try:
            os.link(draft, workspace.queue_db)
        except FileExistsError:
            pass  # another process was first; its file is as good
        finally:
            draft.unlink()
    except (OSError, sqlite3.Error) as error:
        raise QueueError(
            f"cannot make the queue file {workspace.queue_db}: {error}",
            hint="Check the disk's free space and the permissions of .sow, then call again.",
        ) from error


def _start_ids_after_folders(connection: sqlite3.Connection, workspace: Workspace) -> None:
    """Never reuse the number of a job whose output still lies in `run/jobs`."""
    jobs = workspace.run / "jobs"
    numbers = [int(folder.name) for folder in jobs.glob("*") if folder.name.isdecimal()]
    if numbers:
        connection.execute("insert into sqlite_sequence values ('job', ?)", (max(numbers),))
