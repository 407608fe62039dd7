"""Until when a lease on a server is its worker's alone: a deadline by the server's own clock.

Owns the statements about it. A worker says again and again that it lives, over a connection of its
own and without the queue's turn, so that it waits for no writer: a beat changes nothing but the
worker's own rows. It is committed durably: a server that forgot a beat in a crash would have a
lease end before its worker thinks so.

On one host a lock proves life and death (`workers.life_of`). Deadlines are for what no lock of this
host tells, other hosts' workers first of all (`hosts`), and only in a queue that is `shared`: there
agents end before the deadline (`worker.heartbeat`), and afterwards whoever can prove nothing else
takes the lease over.
"""

from collections.abc import Callable

from sow.ids import JobId, WorkerId
from sow.jobs.store import Beat, Beats, Database

LEASE_SECONDS = "lease seconds"
"""The row of `control` by which a queue is shared: it says how long a lease is."""
LEAST_SECONDS = 90.0
"""The shortest lease: between the end of a silent host's agents and that of their leases there is a
sixth of it, and an agent may take 13 s to end."""
EXPIRED = "(deadline < clock() and exists (select 1 from control where name = 'lease seconds'))"
BEAT = """
    with living as (update worker set beat_at = clock() where id = :worker returning id),
        moved as (
            update lease set deadline = lease_end() where worker_id = :worker returning job_id)
    select coalesce(group_concat(cast(job_id as text), ' '), '') as jobs,
        coalesce(group_concat(cast(ending.id as text), ' '), '') as ending,
        (select cast(value as double precision) from control where name = 'lease seconds')
            as lease_seconds,
        exists (select 1 from living) as is_on_record,
        (select seq from sqlite_sequence where name = 'change') as newest
    from moved left join job as ending on ending.id = job_id and cancel_requested_at is not null
"""


class ServerBeats(Beats):
    """The beats of one worker, over a connection of their own."""

    def __init__(
        self, database: Database, worker_id: WorkerId, look: Callable[[int], None]
    ) -> None:
        """`look` is given the number of the newest change; what it raises, a beat raises."""
        self._database = database
        self._worker_id = worker_id
        self._look = look

    def beat(self) -> Beat:
        """Move the deadlines of the worker's leases. Raises QueueError."""
        row = self._database.row(BEAT, {"worker": self._worker_id})
        assert row is not None  # noqa: S101 - it has no condition
        self._look(row["newest"] or 0)
        jobs, ending = _ids(row["jobs"]), _ids(row["ending"])
        return Beat(jobs, row["lease_seconds"], ending, row["is_on_record"])

    def close(self) -> None:
        """Close the connection."""
        self._database.close()


def _ids(text: str) -> frozenset[JobId]:
    return frozenset(JobId(int(number)) for number in text.split())


HEARD = "clock() - beat_at <= (select cast(value as double precision) from control where name = ?)"
"""A worker of a shared queue was heard within the length of a lease."""


def heard_workers(database: Database) -> frozenset[WorkerId]:
    """Return the workers of a shared queue that were heard within the length of a lease."""
    rows = database.rows(f"select id from worker where {HEARD}", (LEASE_SECONDS,))  # noqa: S608
    return frozenset(WorkerId(row["id"]) for row in rows)


def is_heard(database: Database, worker_id: WorkerId) -> bool:
    """Whether a worker of a shared queue was heard within the length of a lease."""
    sql = f"select 1 from worker where {HEARD} and id = ?"  # noqa: S608 - words of ours
    return database.row(sql, (LEASE_SECONDS, worker_id)) is not None


def silent_seconds(database: Database) -> float | None:
    """Return how long ago the last worker was heard; None where none is on record."""
    seconds: float | None = database.value("select clock() - max(beat_at) from worker")
    return seconds


def seconds_left(database: Database) -> dict[JobId, float]:
    """Return for how long each job is still its worker's alone; below zero where not any more."""
    rows = database.rows("select job_id, deadline - clock() as seconds from lease")
    return {JobId(row["job_id"]): row["seconds"] for row in rows}
