"""The queue on a PostgreSQL server: the connection, and how rows are read and changed over it.

Owns the connection and its limits. A queue is a schema of the server's database. `server_making`
makes its tables, `server_checkout` says who uses it, `server_statements` puts a statement into
psycopg's form, `server_faults` has the words for what may be wrong. All of them are imported only
where a URL is configured: importing psycopg alone takes longer than a short command.

Writers take turns, as with a file: a transaction begins by taking the queue's advisory lock, which
the server frees when the transaction or its session ends. So limits hold across hosts, and the
numbers of changes grow with the commits.
"""

import logging
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from psycopg import (
    Connection,
    Cursor,
    Error,
    IntegrityError,
    OperationalError,
    Pipeline,
    connect,
)
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import InvalidParameterValue, UndefinedTable

from sow import env_vars
from sow.config.queue import read_queue_url
from sow.digest import sha256
from sow.errors import ConfigurationError
from sow.ids import WorkerId
from sow.jobs.server_deadlines import EXPIRED, LEASE_SECONDS, ServerBeats
from sow.jobs.server_faults import (
    RETRY,
    ServerFault,
    ServerQueueChanged,
    meant_by,
    place_of,
    refuse_format,
    words_of,
)
from sow.jobs.server_rows import WholeLoader, rows_of
from sow.jobs.server_seen import SEEN_NAME, SeenChanges
from sow.jobs.server_statements import translated, values_for
from sow.jobs.store import (
    HOST_MARK,
    Beats,
    ConstraintFailed,
    Database,
    Ear,
    Parameters,
    Ring,
    Row,
    Sign,
)
from sow.paths import user_config_path

FORMAT_NAME, CHECKOUT = "format", "checkout"
"""The rows of `control` that hold the form of the tables, and who uses them (`server_checkout`)."""
CHANGES = "newest change"
OF_CHANGES = "cast(seq as text) from sqlite_sequence where name = 'change'"
AND_NEWEST = f"union all select '{CHANGES}', {OF_CHANGES}"
"""The number of the newest change, beside rows of `control`."""

HOST_SETTING = "sow.host"
"""The setting of a session that says which host it is of; new jobs have it from there."""
CONNECT_SECONDS = 10
LEAST_CONNECT_SECONDS = 2
"""The shortest time that libpq takes for it."""
STATEMENT_SECONDS = 30
LOCK_SECONDS = 20
"""How long a writer waits for its turn, at the most."""
IDLE_SECONDS = 15
"""How long a transaction may rest between two statements, before the server ends it."""
PATIENCE_SECONDS = 20.0
"""How long a server that was there before is waited for, as a file's lock is."""
AGAIN_SECONDS = 0.2
"""How long a failed connection is rested from."""
GIVEN_UP_SECONDS = 10
"""After so long without a sign of the server a connection counts as lost."""
UNSAID = logging.NullHandler()
"""psycopg's warnings go to the log of a worker, and to nobody's terminal: an error says enough."""
NETWORK: Mapping[str, int] = {
    "keepalives": 1,
    "keepalives_idle": GIVEN_UP_SECONDS // 2,
    "keepalives_interval": 2,
    "keepalives_count": 2,
    "tcp_user_timeout": GIVEN_UP_SECONDS * 1000,
}
"""What the URL does not say itself. With the system's own limits, a network that has fallen silent
is an error after minutes."""
ITS_NETWORK: Mapping[str, str] = {
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
}
"""What the server is to go by at its end, in seconds: it would else keep the connection of a host
that is gone for two hours, and each of them counts against its `max_connections`."""


class QueueServer(Database):
    """A connection to a queue on a server, shared by the threads of a process.

    A connection that was lost is made anew for what is asked next, outside of a transaction. A
    server that is away for a moment is waited for, once until it is back.
    """

    expired = EXPIRED
    heads = "select heads(:now)"
    is_apart = True

    def __init__(self, url: str, schema: str, run_folder: Path) -> None:
        """Say where the queue is: nothing is asked of the server yet."""
        super().__init__(run_folder)
        self.place = place_of(url)
        self._url = url
        self.schema = schema
        self.turn = int.from_bytes(sha256(schema.encode()).digest()[:8], "big", signed=True)
        """The number of the advisory lock that a writer of this queue holds."""
        self.checkout: str | None = None
        """What this process's checkout is called; None before the queue is taken for it."""
        self.has_unmarked = True
        """Whether names without a host are of this checkout: from before the queue was shared."""
        self.seen = SeenChanges(self.place, run_folder / SEEN_NAME)
        self._notes = True
        """Whether to note what was seen when this one is closed."""
        self._depth = 0
        self._connection: Connection[Any] | None = None
        self._connect_seconds = CONNECT_SECONDS
        self._may_wait = env_vars.ATTEMPT_ID in os.environ
        """Whether to wait for the server: it was there before, or an agent asks, whose report must
        not fail for a moment's absence. A person is told at once."""

    @property
    def connection(self) -> Connection[Any]:
        """The connection; a new one where the last was lost. Raises QueueError."""
        with self.lock:
            self.seen.refuse_restored()
            known = self._connection
            if known is None or known.closed or known.broken:
                if self._depth:  # what was begun is lost with the connection
                    raise ServerFault(self.place, "the connection was lost", RETRY, passes=True)
                known = self._connection = self._connected()
            return known

    def _connected(self) -> Connection[Any]:
        """Connect; wait for a server that was there, but not again after that was in vain."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                made = self._connect()
            except ServerFault as error:
                if self._has_new_address():  # whatever the error: its words may be of any language
                    continue
                self._may_wait &= error.passes and time.monotonic() < deadline
                if not self._may_wait:
                    raise
                time.sleep(AGAIN_SECONDS)
            else:
                self._may_wait = True
                return made

    def _has_new_address(self) -> bool:
        """Take the address that the user's file has by now; whether it is new: a password, say.

        Another server, or another database of it, has another queue.
        """
        url = ""
        with suppress(ConfigurationError):
            url = read_queue_url(user_config_path(os.environ))
        if not url or url == self._url or place_of(url) != self.place:
            return False
        self._url = url
        return True

    def _connect(self) -> Connection[Any]:
        with self._faults():
            logging.getLogger("psycopg").addHandler(UNSAID)
            address = conninfo(self._url, self._connect_seconds)
            made = connect(address, autocommit=True, row_factory=rows_of)
            made.adapters.register_loader("numeric", WholeLoader)
            settings = {
                "search_path": f'"{self.schema}", pg_catalog',
                "default_transaction_isolation": "read committed",  # each looks after its turn came
                "statement_timeout": f"{STATEMENT_SECONDS}s",
                "lock_timeout": f"{LOCK_SECONDS}s",
                "idle_in_transaction_session_timeout": f"{IDLE_SECONDS}s",
                "TimeZone": time_zone(),
                "client_encoding": "UTF8",
                "extra_float_digits": "1",  # fewer would round what is read
                "jit": "off",  # to compile a plan takes 70 ms, and is tried at a wrong guess
                **ITS_NETWORK,
                HOST_SETTING: self.host_id,
            }
            try:
                _set(made, settings)
            except InvalidParameterValue:  # a zone of which the server does not know
                _set(made, {**settings, "TimeZone": zone_by_offset()})
            if self.seen.is_open:
                self._see_again(made)
        return made

    def _see_again(self, made: Connection[Any]) -> None:
        """Raise ServerRestored where the server has less than before its connection was lost."""
        try:
            row = made.execute(f"select {OF_CHANGES}").fetchone()
            self.seen.look(int(row[0]) if row is not None else 0)
        except BaseException:
            made.close()
            raise

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Tell a fault of the server or the network from one of ours."""
        try:
            yield
        except IntegrityError as error:
            raise ConstraintFailed(words_of(error)) from error
        except Error as error:
            found = meant_by(error, self.place)
            if found is None:
                raise
            raise found from error

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[None]:
        """Change several rows together, while no other process changes any. As `Database` says."""
        with self.lock:
            if self._depth:
                yield
                return
            self._begin(durable)
            try:
                yield
                with self._faults():
                    self.connection.execute("commit")
            except BaseException:
                self._undo("rollback")
                raise
            finally:
                self._depth = 0

    def _undo(self, rollback: str) -> None:
        """Undo what was begun; a connection that is lost has done so, and none is made for it."""
        if self._connection is not None:
            with suppress(Error):  # the error that led here says more
                self._connection.execute(rollback)

    @contextmanager
    def hurried(self, seconds: float) -> Iterator[None]:
        """Wait for others no longer than so many seconds, nor for a server that is away."""
        if not self.lock.acquire(timeout=seconds):
            hint = "Nothing was changed; run the command again."
            raise ServerFault(self.place, "another thread uses it", hint, passes=True)
        may_wait, self._may_wait = self._may_wait, False
        least = max(LEAST_CONNECT_SECONDS, math.ceil(seconds))
        self._connect_seconds = min(least, CONNECT_SECONDS)
        try:
            self._wait_for_turn(seconds)
            try:
                yield
            finally:
                self._wait_for_turn(LOCK_SECONDS)
        finally:
            self._may_wait, self._connect_seconds = may_wait, CONNECT_SECONDS
            self.lock.release()

    def _wait_for_turn(self, seconds: float) -> None:
        self._run(f"set lock_timeout = {max(1, round(seconds * 1000))}")  # 0 is for ever

    @contextmanager
    def turn_alone(self) -> Iterator[Connection[Any]]:
        """Begin a transaction with the queue's lock alone: there may be no tables yet."""
        with self.lock:
            connection = self.connection
            with self._faults(), connection.transaction():
                connection.execute(f"select pg_advisory_xact_lock({self.turn})")
                self._depth = 1
                try:
                    yield connection
                finally:
                    self._depth = 0

    def _begin(self, durable: bool) -> None:
        """Begin, take the queue's turn, and see that the queue is still ours to use; in one go."""
        wait = "" if durable else "set local synchronous_commit = off;"
        beginning = (
            f"begin; {wait} select pg_advisory_xact_lock({self.turn});"  # noqa: S608
            " select name, value from control"
            f" where name in ('{FORMAT_NAME}', '{CHECKOUT}', '{LEASE_SECONDS}') {AND_NEWEST}"
        )
        try:
            with self._faults():
                cursor = self._again_if_lost(lambda: self.connection.execute(beginning))
                while cursor.nextset():
                    pass
                found = dict(cursor.fetchall())
            refuse_format(self.place, int(found.get(FORMAT_NAME, 0)))
            if self.seen.is_open:
                self.seen.look(int(found.get(CHANGES, 0)))
            self.is_shared = LEASE_SECONDS in found
            if not self.is_shared and self.checkout not in (None, found.get(CHECKOUT)):
                hint = "This process uses it no more; run the command again."
                raise ServerQueueChanged(self.place, "is used from another checkout now", hint)
        except BaseException:
            self._undo("rollback")
            raise
        self._depth = 1

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Try a change that may raise ConstraintFailed: the transaction around it goes on then."""
        if not self._depth:
            yield
            return
        self._run("savepoint tried")
        try:
            yield
        except BaseException:
            self._undo("rollback to savepoint tried")
            raise
        self._run("release savepoint tried")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read several times in one go. Nothing has to be looked at for it."""
        with self.lock:
            yield

    def rows(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Return all rows of a query."""
        with self.lock, self._faults():
            return self._again_if_lost(lambda: self._execute(sql, parameters)).fetchall()

    def row(self, sql: str, parameters: Parameters = ()) -> Row | None:
        """Return the first row of a query, if any."""
        with self.lock, self._faults():
            cursor = self._again_if_lost(lambda: self._execute(sql, parameters))
            found: Row | None = cursor.fetchone()
            return found

    def run(self, sql: str, parameters: Parameters = ()) -> int:
        """Run one statement; return how many rows it has changed. Raises ConstraintFailed."""
        with self.transaction():
            return self._run(sql, parameters).rowcount

    def run_all(self, *changes: tuple[str, Parameters]) -> None:
        """Run several statements in their order; the server is waited for once.

        As long as a writer waits, all others wait for their turn.
        """
        with self.transaction(), self._faults():
            together = self.connection.pipeline() if Pipeline.is_supported() else nullcontext()
            with together:
                for sql, parameters in changes:
                    self._execute(sql, parameters)

    def insert(self, sql: str, parameters: Parameters = ()) -> int:
        """Run the insert of one row; return the number that the row got."""
        with self.transaction():
            found = self._run(f"{sql} returning id", parameters).fetchone()
            return int(found[0]) if found is not None else 0

    def _run(self, sql: str, parameters: Parameters = ()) -> Cursor[Any]:
        with self._faults():
            return self._execute(sql, parameters)

    def _execute(self, sql: str, parameters: Parameters) -> Cursor[Any]:
        return self.connection.execute(translated(sql), values_for(sql, parameters))

    def _again_if_lost(self, ask: Callable[[], Cursor[Any]]) -> Cursor[Any]:
        """Ask what changes nothing, once more over a new connection where the last was lost."""
        try:
            return ask()
        except OperationalError:
            if self._depth or self._connection is None or not self._connection.broken:
                raise
            return ask()

    def all_noted(self) -> dict[str, str]:
        """Return all that is noted of the queue as a whole; nothing where there is no queue."""
        with self.lock, self._faults():
            try:
                sql = f"select name, value from control {AND_NEWEST}"  # noqa: S608 - ours
                return dict(self._again_if_lost(lambda: self._execute(sql, ())).fetchall())
            except UndefinedTable:
                self._refuse_without_right()
                return {}

    def _refuse_without_right(self) -> None:
        """Raise ServerFault where the queue is there, but not for our role."""
        if self.value(
            "select 1 from pg_namespace where nspname = ?"
            " and not has_schema_privilege(oid, 'usage')",
            (self.schema,),
        ):
            role = self.connection.info.user
            hint = f"Whoever owns it lets you in: `sow hosts init --caller {role}`, or `--host`."
            raise ServerFault(self.place, f"the role {role} may not use this queue", hint)

    def sign(self) -> Sign:
        """Return what tells whether anybody has written since, we among them.

        It names the transactions whose changes are seen.
        """
        return self.value("select cast(pg_current_snapshot() as text)"), 0

    def sync(self) -> None:
        """Wait until all that was committed survives a loss of power.

        The server's log is written in its order: a commit that is waited for ends the wait. What it
        commits is a line of that log alone, which every role may write.
        """
        with self.lock:
            self._run("select pg_logical_emit_message(true, 'sow', '')")

    def beside(self) -> "QueueServer":
        """Return another connection to the same queue, for what must not wait for this one."""
        other = QueueServer(self._url, self.schema, self.run_folder)
        other.checkout, other.host_id = self.checkout, self.host_id
        other.seen, other._notes = self.seen, False
        return other

    def beats(self, worker_id: WorkerId) -> Beats:
        """Return how a worker moves the deadlines of its leases."""
        return ServerBeats(self.beside(), worker_id, self.seen.look)

    def listen(self, is_for: Callable[[Ring], bool]) -> Ear | None:
        """Hear of what others change, in a queue that is shared."""
        if self.noted(LEASE_SECONDS) is None:
            return None
        from sow.jobs.server_bells import ServerEar  # most queues are not

        its = self.beside()
        return ServerEar(its.listening, its.close, is_for)

    def listening(self) -> Connection[Any]:
        """Return the connection, which hears the queue's rings from now on."""
        with self.lock, self._faults():
            self.connection.execute(f'listen "{self.schema}"')
            return self.connection

    def named(self, name: str) -> str:
        """Return a name of this host as the queue has it on record: with the host's id."""
        return f"{name}{HOST_MARK}{self.host_id}" if self.is_shared else name

    def is_elsewhere(self, name: str) -> bool:
        """Whether a worker or a call that waits is of another host; never if none shares it."""
        host_id = name.partition(HOST_MARK)[2]
        return self.is_shared and (host_id != self.host_id if host_id else not self.has_unmarked)

    def damage(self) -> str:
        """Return nothing: the server watches over its tables itself."""
        return ""

    def close(self) -> None:
        """Close the connection."""
        with self.lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
                if self._notes:
                    self.seen.note()


def _set(connection: Connection[Any], settings: Mapping[str, str]) -> None:
    calls = ", ".join("set_config(%s, %s, false)" for _ in settings)
    words = [word for setting in settings.items() for word in setting]
    connection.execute(f"select {calls}", words)


def conninfo(url: str, connect_seconds: int = CONNECT_SECONDS) -> str:
    """Return an address with what it does not say itself, as libpq takes it."""
    ours: dict[str, Any] = {
        **NETWORK,
        "connect_timeout": connect_seconds,
        "application_name": "sow",
    }
    return make_conninfo("", **{**ours, **conninfo_to_dict(url)})


def time_zone() -> str:
    """Return the time zone of this machine as PostgreSQL takes it."""
    name = os.environ.get("TZ", "").removeprefix(":")
    if not name:
        with suppress(OSError):
            name = os.readlink("/etc/localtime").partition("/zoneinfo/")[2]  # noqa: PTH115
    return name if name and not name.startswith("/") else zone_by_offset()


def zone_by_offset() -> str:
    """Return how far this machine's time is from UTC, as PostgreSQL takes it."""
    minutes = time.localtime().tm_gmtoff // 60
    shown = f"{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
    return f"<{'-' if minutes < 0 else '+'}{shown}>{'+' if minutes < 0 else '-'}{shown}"
