"""The queue as everything above it uses it: what a store promises, whichever keeps it.

Owns the interface: a store opens and makes its tables, changes several rows together, gives the
numbers of new rows, and tells whether anything was written. `database` keeps the queue in a file of
the checkout, `queue_server` on a server. Every other module of `sow.jobs` is a set of functions
over a `Database`; all of sow's SQL is in this package, in words that every store reads alike.
Huey's own tables stand in the same store, so that a queue row, a job and a lease change together or
not at all.
"""

from _thread import RLock  # `threading` takes long to import
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sow.ids import BatchId, JobId, WorkerId
from sow.plain_record import PlainRecord

if TYPE_CHECKING:
    from typing import Protocol

    class Row(Protocol):
        """A row of a query: its values by name or by place, in order, and their names."""

        def __getitem__(self, name: int | str, /) -> Any: ...
        def __iter__(self) -> Iterator[Any]: ...
        def __len__(self) -> int: ...
        def keys(self) -> list[str]:
            """Return the names of the columns."""
else:
    Row = object

Parameters = Sequence[Any] | Mapping[str, Any]
"""The values of a statement, by their places or by their names."""
Sign = tuple[object, object]
"""Differs from an earlier one where anything was written meanwhile."""
FIRST_FORMAT = 1
FORMAT = 6
"""The form of the tables as this sow writes them: the last file in `forms`."""
SHOWN_NUL = "\N{SYMBOL FOR NULL}"
"""What stands in the place of NUL, which no text may hold in PostgreSQL."""
ACTIVE = "state in ('preparing', 'queued', 'running', 'backoff', 'parked', 'held')"
"""A job lives: the condition of the index on live jobs, word for word, as `forms` has it."""
SOMETHING = f"""
    select exists (select 1 from job where {ACTIVE})
        or exists (select 1 from job where owes_task)
        or exists (select 1 from batch where ended_at is null)
        or exists (select 1 from waiter)
        or exists (select 1 from control where name = 'paused')
"""  # noqa: S608 - words of ours
USUAL_SECONDS = 120.0
"""How long a lease is, where leases end and nobody has said otherwise; the tables say it too."""


MOST_AGENTS = "most agents"
"""The row of `control` that bounds the agents of all hosts of a shared queue together; with an
executor's name behind it, those of that."""
HOST_MARK = "@"
"""Stands before a host's id in a name."""


class ConstraintFailed(Exception):
    """A constraint or a trigger of the tables forbids a change; nothing of it was made."""


class Beat(NamedTuple):
    """What a beat was answered."""

    jobs: frozenset[JobId]
    """The jobs whose leases are the worker's."""
    lease_seconds: float | None
    """How long a lease is, where others may take one over whose deadline has passed; else None."""
    ending: frozenset[JobId] = frozenset()
    """Those of them whose end somebody has asked for."""
    is_on_record: bool = True
    """Whether the worker is: another host strikes off one that was not heard for too long."""


class Beats:
    """How a worker says that it lives, to whoever cannot see its locks."""

    def beat(self) -> Beat:
        """Move the deadlines of the worker's leases. Raises QueueError."""
        raise NotImplementedError

    def close(self) -> None:
        """Leave the store."""
        raise NotImplementedError


class Ring(PlainRecord):
    """What somebody has changed in a queue; 0 where it concerns no job, or no batch."""

    job: JobId
    batch: BatchId


class Ear:
    """How a process hears of changes that are made elsewhere."""

    def fileno(self) -> int | None:
        """Return what can be read when somebody has rung; None while nothing can be heard."""
        raise NotImplementedError

    def heard(self) -> bool:
        """Read what was rung; whether any of it concerns us, or may have been lost."""
        raise NotImplementedError

    def close(self) -> None:
        """Hear nothing more."""
        raise NotImplementedError


class Serves(NamedTuple):
    """What a host's own user has it run in a shared queue; each as JSON."""

    executors: str
    """The names of executors, each with how many of its agents may run here at once, or null."""
    owners: str | None
    """The roles whose jobs it runs; None: of everybody."""
    labels: str = "[]"
    """What it offers: all that a job requires must be among them."""


class Database:
    """One process's way to a queue, shared by its threads.

    `run_folder` is the checkout's folder for what is this machine's: the output of jobs lies there.

    `expired` is the condition that the deadline of a lease has passed and others may take it over.

    `heads` selects the messages that a claim at `:now` has to choose from: the first of each lane,
    which is the jobs of which the limits allow either any or none, and of those without a job.

    `is_shared` tells whether several hosts share it: then no record has facts of a machine, and
    `host_id` is what this checkout is called there (`hosts`). Of a worker, `as_here` makes of a
    record that was read what counts on this machine, and `serves` bounds what is claimed in a
    shared queue.

    Statements name their values by `?`, `?1` or `:name`. Whatever is asked for may raise
    QueueError, where the store cannot be used, and QueueChanged, where it is the queue no more.
    """

    expired = "false"
    heads = """
        with recursive lanes (lane) as (
            select min(lane) from job where queue_row is not null
            union all
            select (select min(job.lane) from job
                where queue_row is not null and job.lane > lanes.lane)
            from lanes where lane is not null)
        select (select queue_row from job
            where queue_row is not null and job.lane = lanes.lane and retry_at <= :now
                and exists (select 1 from task where task.id = queue_row)
            order by priority desc, id limit 1)
        from lanes where lane is not null
        union all
        select * from (
            select id from task where job_id is null order by priority desc, id limit 1)
    """
    is_apart = False
    """Whether the store may lose its last commits while the processes that made them live."""
    is_shared = False
    host_id = ""
    as_here: Callable[[Any], Any] | None = None
    serves: Serves | None = None

    def __init__(self, run_folder: Path) -> None:
        self.run_folder = run_folder
        self.lock = RLock()
        self._for_good: dict[str, str | None] = {}

    def transaction(self, *, durable: bool = True) -> AbstractContextManager[None]:
        """Change several rows together: all of it is kept afterwards, or nothing is.

        One transaction at a time changes a queue, whichever process it is of: what one reads stays
        so until it ends. May be nested; the inner one joins the outer.

        One that is not `durable` is there for every process at once, and survives a loss of power
        once the next one that is has ended. The outermost transaction decides.
        """
        raise NotImplementedError

    def hurried(self, seconds: float) -> AbstractContextManager[None]:
        """Wait for others no longer than so many seconds, for what need not be written.

        Others are the threads of this process, and whoever else writes.
        """
        raise NotImplementedError

    def savepoint(self) -> AbstractContextManager[None]:
        """Try a change that may raise ConstraintFailed: the transaction around it goes on then."""
        return nullcontext()

    def reading(self) -> AbstractContextManager[None]:
        """Read several times in one go, which costs less. May be nested; joins a transaction.

        Only behind the block is it known that what was read is the queue's.
        """
        raise NotImplementedError

    def rows(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Return all rows of a query."""
        raise NotImplementedError

    def row(self, sql: str, parameters: Parameters = ()) -> Row | None:
        """Return the first row of a query, if any."""
        raise NotImplementedError

    def value(self, sql: str, parameters: Parameters = ()) -> Any:
        """Return the first value of a query's first row; None without a row."""
        row = self.row(sql, parameters)
        return row[0] if row is not None else None

    def row_though_removed(self, sql: str, parameters: Parameters = ()) -> Row | None:
        """Return the first row of a query to the store that we opened, wherever that is by now.

        What it tells is how things stood when the store was lost.
        """
        return self.row(sql, parameters)

    def run(self, sql: str, parameters: Parameters = ()) -> int:
        """Run one statement, in the transaction that is open or in one of its own.

        Return how many rows it has changed. Raises ConstraintFailed.
        """
        raise NotImplementedError

    def run_all(self, *changes: tuple[str, Parameters]) -> None:
        """Run several statements in their order, as `run` does: in one go where that is quicker."""
        with self.transaction():
            for sql, parameters in changes:
                self.run(sql, parameters)

    def insert(self, sql: str, parameters: Parameters = ()) -> int:
        """Run the insert of one row, as `run` does; return the number, `id`, that the row got."""
        raise NotImplementedError

    def noted(self, name: str) -> str | None:
        """Return what `note` has put under a name; None for nothing."""
        value: str | None = self.value("select value from control where name = ?", (name,))
        return value

    def noted_for_good(self, name: str) -> str | None:
        """Return what `noted` does, of a value that never changes: it is read once."""
        if name not in self._for_good:
            self._for_good[name] = self.noted(name)
        return self._for_good[name]

    def note(self, name: str, value: object) -> None:
        """Put a value under a name that stands for the queue as a whole."""
        self.run(
            "insert into control (name, value) values (?, ?)"
            " on conflict (name) do update set value = excluded.value",
            (name, str(value)),
        )

    def sign(self) -> Sign:
        """Return what tells whether anybody has written since, we among them."""
        raise NotImplementedError

    def sync(self) -> None:
        """Wait until all that was committed survives a loss of power: after one not `durable`.

        So others can go on with it while the disk is waited for.
        """
        raise NotImplementedError

    def beats(self, worker_id: WorkerId) -> Beats | None:  # noqa: ARG002
        """Return how a worker moves the deadlines of its leases; None where these have none."""
        return None

    def listen(self, is_for: Callable[[Ring], bool]) -> Ear | None:  # noqa: ARG002
        """Hear of what concerns us, as `is_for` says, and others change elsewhere.

        None where all who change anything ring the bells of this checkout.
        """
        return None

    def named(self, name: str) -> str:
        """Return a name of a worker or a call of this host as the queue has it on record."""
        return name

    def is_elsewhere(self, name: str) -> bool:  # noqa: ARG002
        """Whether a worker or a call that waits is of another host, by its name on record."""
        return False

    def damage(self) -> str:
        """Return what is wrong with the tables, in the store's words; nothing if all is sound."""
        raise NotImplementedError

    def close(self) -> None:
        """Leave the store."""
        raise NotImplementedError


def is_quiet(database: Database) -> bool:
    """Whether no job lives, no batch goes on, nothing is owed, and nothing is paused."""
    return not database.value(SOMETHING)
