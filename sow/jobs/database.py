"""The queue, opened where the user keeps it: in a file of the checkout, or on a named server.

Owns the choice, and all of a file: how it is opened, read and changed in one transaction, the
connection, and the look whether the file is still the queue. How the file is made is `making`, what
lies on disk `queue_files`; `server_place` opens a queue on a server. What both promise is `store`.

Durability: WAL with synchronous=FULL (SQLite's default), one fsync a commit, save where a
transaction says that a loss of power may undo it.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sow import env_vars
from sow.errors import QueueError
from sow.jobs.faults import NewerQueue, QueueDamaged, QueueReplaced, unusable
from sow.jobs.open_files import Place
from sow.jobs.private_folders import close_to_others, make_private, refuse_foreign_run
from sow.jobs.queue_files import (
    Marks,
    are_same,
    connect,
    count_commit,
    format_of,
    has_opened,
    look_again,
    maker_of,
    marks_of,
    refuse_unfit,
)
from sow.jobs.queue_owner import has_name, is_own, is_signed, name_here
from sow.jobs.store import (
    ACTIVE,
    FIRST_FORMAT,
    FORMAT,
    ConstraintFailed,
    Database,
    Parameters,
    Row,
    Sign,
    is_quiet,
)
from sow.paths import Workspace, display_path, may_name_server, user_config_path

__all__ = [
    "ACTIVE",
    "FIRST_FORMAT",
    "FORMAT",
    "ConstraintFailed",
    "Database",
    "QueueFile",
    "Row",
    "Sign",
    "is_quiet",
    "open_existing_queue",
    "open_queue",
]
"""What the functions over a queue need, be it in a file or on a server."""

SYNC = getattr(os, "fdatasync", os.fsync)  # macOS has none
OPENINGS = 5
"""How often opening begins anew where the log has changed meanwhile."""
BUSY_SECONDS = 20.0


class Faults:
    """Tells a fault of the file (locked, full, damaged) from one of ours.

    A plain class: each statement is run in it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, _traceback: object) -> None:
        """Raise QueueError in the place of a fault of the file."""
        if error is None or isinstance(error, sqlite3.ProgrammingError):
            return
        if isinstance(error, sqlite3.IntegrityError):
            raise ConstraintFailed(str(error)) from error
        if isinstance(error, sqlite3.DatabaseError):
            raise unusable(self.path, error) from error
        if isinstance(error, OverflowError):
            raise QueueError(
                "a number is too large to be stored",
                hint="Nothing was changed. Find the number in the command, in SOW_JOB_ID or in"
                " the configuration, and make it smaller.",
            ) from error


class QueueFile(Database):
    """One connection to a queue file, shared by the threads of a process.

    Whatever is asked for outside of a transaction first looks whether the file is still the
    queue, and once more afterwards: QueueChanged says that it is not. Then nothing was read, and
    what was written is perhaps in a file that nobody reads any more.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, marks: Marks, name: str) -> None:
        """Use a connection. `name`: the second name of the file, without which it is not ours."""
        super().__init__(path.parent)
        self.path = path
        self.connection = connection
        self._faults = Faults(path)
        self._depth = 0
        self._marks = marks
        self._name = name
        self._is_looked_at = False
        self._waits_for_disk = True
        self._run = str(path.parent)
        self._read_in: Marks | None = None  # as they were when the format was looked at last
        self._format_of: tuple[int, int] | None = None
        """By what it was known then: the commits of others, and the inode of the file's folder."""

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[None]:
        """Change several rows together: all of it is on disk afterwards, or nothing is.

        One that is not `durable` is there for every process at once, and on disk with the next
        one that is: a loss of power before may undo it. The outermost transaction decides.
        """
        with self.lock:
            if self._depth:
                yield
                return
            self._wait_for_disk(durable)
            self._begin()
            self._depth = 1
            try:
                self._look_at_files()  # whoever gives the queue another file has had this lock
                self._look_at_format()
                before = self.connection.total_changes
                yield
                self._commit(before)
                self._look_again()
            except BaseException:
                with suppress(sqlite3.Error):  # the error that led here says more
                    self.connection.rollback()
                raise
            finally:
                self._depth = 0

    def _begin(self) -> None:
        """Take the file's lock; the look at the files, which follows, counts only with it.

        Where there is no lock to be had, whether the file is the queue's no more says more.
        """
        try:
            self._execute("begin immediate")
        except QueueError:
            self._look_at_files()
            raise

    @contextmanager
    def hurried(self, seconds: float) -> Iterator[None]:
        """Wait for others no longer than so many seconds, for what need not be written.

        Others are the threads that use this connection, and whoever has the file locked. Raises
        QueueError.
        """
        if not self.lock.acquire(timeout=seconds):
            raise QueueError(
                f"the queue file {self.path} is in use by another thread",
                hint="Nothing was changed; run the command again.",
            )
        try:
            self._wait_for_file(seconds)
            try:
                yield
            finally:
                self._wait_for_file(BUSY_SECONDS)
        finally:
            self.lock.release()

    def _wait_for_file(self, seconds: float) -> None:
        self._execute(f"pragma busy_timeout = {round(seconds * 1000)}")

    def sync(self) -> None:
        """Wait until all that was committed is on disk: after a commit that was not `durable`.

        So others can go on with it while the disk is waited for. Raises QueueError.
        """
        try:
            log = os.open(f"{self.path}-wal", os.O_RDONLY | os.O_CLOEXEC)
            try:
                SYNC(log)
            finally:
                os.close(log)
        except FileNotFoundError as error:
            raise QueueReplaced(self.path) from error
        except OSError as error:
            raise _not_ours_to_use(self.path, error) from error

    def _wait_for_disk(self, wanted: bool) -> None:
        """Have the commits from now on wait until they are on disk, or not."""
        if wanted is not self._waits_for_disk:
            self._execute(f"pragma synchronous = {'full' if wanted else 'normal'}")
            self._waits_for_disk = wanted

    def _commit(self, before: int) -> None:
        if self.connection.total_changes != before:
            with self._faults:
                count_commit(self.connection)
        self._execute("commit")

    def rows(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Return all rows of a query. Raises QueueError when the file cannot be used."""
        with self.lock:
            if self._depth or self._is_looked_at:  # whoever began it looks at the files
                return self._all(sql, parameters)
            with self.reading():
                return self._all(sql, parameters)

    def row(self, sql: str, parameters: Parameters = ()) -> Row | None:
        """Return the first row of a query, if any. Raises QueueError like `rows`."""
        with self.lock:
            if self._depth or self._is_looked_at:  # as in `rows`
                return self._first(sql, parameters)
            with self.reading():
                return self._first(sql, parameters)

    def sign(self) -> Sign:
        """Return what tells whether anybody has written since, we among them. Raises QueueError."""
        commits = self.value("pragma data_version")  # of others
        return int(commits), self.connection.total_changes

    def _all(self, sql: str, parameters: Parameters) -> list[Row]:
        with self._faults:
            return self.connection.execute(sql, parameters).fetchall()

    def _first(self, sql: str, parameters: Parameters) -> Row | None:
        with self._faults:
            row: Row | None = self.connection.execute(sql, parameters).fetchone()
            return row

    def row_though_removed(self, sql: str, parameters: Parameters = ()) -> Row | None:
        """Return the first row of a query to the file that we opened, wherever that is by now.

        What it tells is how things stood when the file was lost. Raises QueueError.
        """
        with self.lock:
            return self._first(sql, parameters)

    def run(self, sql: str, parameters: Parameters = ()) -> int:
        """Run one statement, in the transaction that is open or in one of its own.

        Return how many rows it has changed. Raises QueueError when the file cannot be used,
        ConstraintFailed when a constraint forbids the change.
        """
        return self._changed(sql, parameters).rowcount

    def insert(self, sql: str, parameters: Parameters = ()) -> int:
        """Run the insert of one row, as `run` does; return the number that the row got."""
        return self._changed(sql, parameters).lastrowid or 0

    def _changed(self, sql: str, parameters: Parameters) -> sqlite3.Cursor:
        with self.lock:
            if self._depth:
                return self._execute(sql, parameters)
            with self.transaction():
                return self._execute(sql, parameters)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read several times under one look at the files: the looks cost as much as the reading.

        Only behind the block is it known that what was read is the queue's: QueueChanged says
        that it is not. Other threads wait meanwhile. May be nested, and joins a transaction.
        """
        with self.lock:
            if self._depth or self._is_looked_at:
                yield
                return
            self._look_at_files()
            if self._marks is not self._read_in:
                self._look_at_format()
            self._is_looked_at = True
            try:
                yield
            finally:
                self._is_looked_at = False
            self._look_again()

    def _look_again(self) -> None:
        """Raise QueueChanged when the file was swapped while we used it."""
        before = self._marks
        self._look_at_files()
        if self._marks is not before:
            self._look_at_format()

    def _execute(self, sql: str, parameters: Parameters = ()) -> sqlite3.Cursor:
        with self._faults:
            return self.connection.execute(sql, parameters)

    def _look_at_files(self) -> None:
        """Raise QueueChanged when the files on disk are not those we have open, or not whole."""
        try:
            self._marks = look_again(self.path, self._marks)
        except OSError as error:
            raise _not_ours_to_use(self.path, error) from error
        if not has_name(self._marks.file, self._name):
            raise QueueReplaced(self.path)

    def _look_at_format(self) -> None:
        """Raise NewerQueue when a newer sow has brought the file up to its own form.

        Raise QueueReplaced when another file was copied over it.
        """
        with self._faults:
            is_as_read = (
                self._read_in is not None and self._marks.file_written == self._read_in.file_written
            )
            if not is_as_read:
                # SQLite does not notice that: it would go on with the pages that it remembers.
                self.connection.execute("pragma shrink_memory")
            seen = self._commits_of_others(), os.stat(self._run).st_ino  # noqa: PTH116
            if is_as_read and seen == self._format_of:
                # Nobody but we has committed since: SQLite would give the pages that it remembers.
                self._read_in = self._marks
                return
            version = format_of(self.connection)
            is_ours = is_signed(self.connection, self.path.parent)
        if version > FORMAT:
            raise NewerQueue(self.path, version, FORMAT, maker_of(self.connection))
        if version < FORMAT or not is_ours:
            raise QueueReplaced(self.path)
        self._read_in, self._format_of = self._marks, seen

    def _commits_of_others(self) -> int:
        """Return a number that is another one once another connection has committed."""
        return int(self.connection.execute("pragma data_version").fetchone()[0])

    def damage(self) -> str:
        """Return what SQLite finds wrong with the file, in its words; nothing if it is sound."""
        found = str(self.value("pragma quick_check(1)") or "ok").strip()
        return "" if found == "ok" else found

    def close(self) -> None:
        """Close the connection.

        Its log goes into the file then, unless that is our queue no more.
        """
        with self.lock:
            try:
                look_again(self.path, self._marks)
            except (QueueError, OSError):
                _close_unwritten(self.path, self.connection, self._marks.file)
            else:
                self.connection.close()


def _close_unwritten(path: Path, connection: sqlite3.Connection, file: Place | None = None) -> None:
    """Close a connection to a file that is not ours, or perhaps not, and write nothing."""
    # Once for a file that was swapped.
    from sow.jobs.closing import close_unwritten

    close_unwritten(path, connection, file)


def open_queue(workspace: Workspace) -> Database:
    """Open the queue of a workspace and make it first where there is none.

    An older one is brought up to date. Raises QueueError where there is what this sow cannot use;
    that is left untouched.
    """
    _refuse_in_sandbox()
    if url := _server_url(workspace):
        from sow.jobs.server_place import open_made  # psycopg takes long to import

        return open_made(workspace, url)
    return _open_file(workspace)


def open_existing_queue(workspace: Workspace) -> Database | None:
    """Open the queue of a workspace, or return None where nothing was ever queued."""
    _refuse_in_sandbox()
    if url := _server_url(workspace):
        from sow.jobs.server_place import open_existing  # as above

        return open_existing(workspace, url)
    return _open_existing_file(workspace)


def _server_url(workspace: Workspace) -> str:
    """Return the address of the server that has the user's queues; empty where files have them.

    Raises QueueError where this checkout has used a server, and none is named any more.
    """
    url = ""
    if may_name_server(os.environ):
        from sow.config.queue import read_queue_url  # few users name one

        url = read_queue_url(user_config_path(os.environ))
    if not url and os.path.lexists(workspace.queue_name_here):
        config = display_path(user_config_path(os.environ))
        raise QueueError(
            f"the queue of {workspace.root} is on a server, and {config} names none",
            hint="Put `queue: {url: …}` back, or set SOW_CONFIG to the file that has it. To begin"
            f" with a queue in a file instead, run `rm {workspace.queue_name_here}`.",
        )
    return url


def _refuse_in_sandbox() -> None:
    """Say that an agent in a sandbox has no queue, where it would seem to be empty."""
    if env_vars.REPORT_SOCKET in os.environ:
        raise QueueError(
            "the queue cannot be read here: it lies outside of this agent's sandbox",
            hint="In a sandbox an agent reads the project and its tasks, and reports:"
            " `sow task set`, `sow agent log`. Whoever gave it the task sees the jobs.",
        )


def _open_file(workspace: Workspace) -> QueueFile:
    """Open the queue of a workspace and make it first where there is none, as `open_queue` does.

    A file that is not this user's own is put aside (`unproven_queue`).
    """
    refuse_foreign_run(workspace)
    if not _is_ours(workspace):
        # Once for each queue.
        from sow.jobs.making import make_queue

        make_queue(workspace)
    # Many tools that copy a tree leave empty folders out.
    for folder in (workspace.workers, workspace.waiters):
        with suppress(OSError):  # whoever needs the folder reports what is wrong with it
            make_private(folder, below=workspace.run)
    for folder in (workspace.run, workspace.jobs):
        with suppress(OSError):
            close_to_others(folder)
    database = _open_own(workspace)
    if database is None:
        # Once for a file that was copied over ours.
        from sow.jobs.making import make_queue

        make_queue(workspace)
        database = _open(workspace)
    if database is None:
        raise QueueReplaced(workspace.queue_db)
    return database


def _open_existing_file(workspace: Workspace) -> QueueFile | None:
    """Open the queue of a workspace, or return None where nothing was ever queued."""
    refuse_foreign_run(workspace)
    return _open_own(workspace) if _is_ours(workspace) else None


def _is_ours(workspace: Workspace) -> bool:
    """Whether there is a file that is this user's own; any other is seen to first."""
    if is_own(workspace):
        return True
    if not _is_there(workspace.queue_db):
        return False
    # Once for a file that somebody else has made, or a sow without proofs.
    from sow.jobs.unproven_queue import see_to_unproven

    see_to_unproven(workspace)
    return _is_there(workspace.queue_db)


def _open_own(workspace: Workspace) -> QueueFile | None:
    """Open the file; one that was copied over ours is put aside. None where there is none then."""
    database = _open(workspace)
    if database is not None:
        return database
    # Once for such a file.
    from sow.jobs.unproven_queue import put_copied_over_aside

    put_copied_over_aside(workspace)
    return _open(workspace) if is_own(workspace) else None


def _is_there(path: Path) -> bool:
    """Whether there is a file; where that may not be asked, opening it says why."""
    try:
        return path.exists()
    except OSError:
        return True


class _LogIsNew(Exception):
    """The log changed while we opened the file, as when the last one who had it open closes it."""


def _open(workspace: Workspace) -> QueueFile | None:
    """Open the file; None where what is in it is not this user's.

    A log that changes meanwhile is looked at from the start: nothing of it was believed yet.
    """
    for _ in range(OPENINGS):
        with suppress(_LogIsNew):
            return _open_once(workspace)
    raise QueueReplaced(workspace.queue_db)


def _open_once(workspace: Workspace) -> QueueFile | None:
    path = workspace.queue_db
    try:
        refuse_unfit(path)
        before = marks_of(path)
        connection = connect(path, seconds=BUSY_SECONDS)
        try:
            version = format_of(connection)
            if version < FIRST_FORMAT:
                raise QueueDamaged(path, f"has format {version}, which no sow makes")
            if version > FORMAT:
                raise NewerQueue(path, version, FORMAT, maker_of(connection))
            if not is_signed(connection, workspace.run):
                _close_unwritten(path, connection)
                return None
            if version < FORMAT:
                # Once after an update of sow.
                from sow.jobs.making import bring_up_to_date

                bring_up_to_date(connection, path)
            marks = marks_of(path)
            # Replaced since we looked, perhaps before it was opened.
            if before.file != marks.file or not is_own(workspace):
                raise QueueReplaced(path)
            if not are_same(before, marks) or not has_opened(marks):
                raise _LogIsNew
            return QueueFile(path, connection, marks, name_here(workspace.run))
        except BaseException as error:
            _close_unwritten(path, connection)
            if isinstance(error, sqlite3.Error) and not are_same(before, marks_of(path)):
                raise QueueReplaced(path) from error
            raise
    except sqlite3.Error as error:
        raise unusable(path, error) from error
    except FileNotFoundError as error:
        raise QueueReplaced(path) from error
    except OSError as error:
        raise _not_ours_to_use(path, error) from error


def _not_ours_to_use(path: Path, error: OSError) -> QueueError:
    """Return the error of a file that the system does not let us look at."""
    return QueueError(
        f"the queue file {path} cannot be used: {error.strerror}",
        hint="Check the folder's permissions, then run the command again.",
    )
