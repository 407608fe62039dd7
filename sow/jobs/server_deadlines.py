"""Until when a lease on a server is its worker's alone: a deadline by the server's own clock.

Owns the statements about it. A worker says again and again that it lives, over a connection of its
own and without the queue's turn, so that it waits for no writer: a beat changes nothing but the
worker's own rows. It is committed durably: a server that forgot a beat in a crash would have a
lease end before its worker thinks so. Nothing is decided by deadlines yet: on one host a lock
proves life and death (`workers.life_of`). They are for what cannot be seen from another host.
"""

from sow.ids import JobId, WorkerId
from sow.jobs.store import Beats, Database

BEAT = """
    with living as (update worker set beat_at = clock() where id = :worker)
    update lease set deadline = lease_end() where worker_id = :worker returning job_id
"""


class ServerBeats(Beats):
    """The beats of one worker, over a connection of their own."""

    def __init__(self, database: Database, worker_id: WorkerId) -> None:
        self._database = database
        self._worker_id = worker_id

    def beat(self) -> list[JobId]:
        """Move the deadlines of the worker's leases; return whose they are. Raises QueueError."""
        rows = self._database.rows(BEAT, {"worker": self._worker_id})
        return sorted(JobId(row["job_id"]) for row in rows)

    def close(self) -> None:
        """Close the connection."""
        self._database.close()


def silent_seconds(database: Database) -> float | None:
    """Return how long ago the last worker was heard; None where none is on record."""
    seconds: float | None = database.value("select clock() - max(beat_at) from worker")
    return seconds


def seconds_left(database: Database) -> dict[JobId, float]:
    """Return for how long each job is still its worker's alone; below zero where not any more."""
    rows = database.rows("select job_id, deadline - clock() as seconds from lease")
    return {JobId(row["job_id"]): row["seconds"] for row in rows}
