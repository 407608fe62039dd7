"""What holds for the queue as a whole: whether it is paused, what it holds, what was set aside."""

from sow.clock import format_time
from sow.jobs.database import Database
from sow.jobs.leases import COUNTED, QUEUE
from sow.plain_record import PlainRecord


class Aside(PlainRecord):
    """A message that no job on record stands behind. `set_aside_at`: seconds since the epoch."""

    data: bytes
    reason: str
    set_aside_at: float


def pause(database: Database, *, now: float) -> None:
    """Have every worker take nothing more; agents that run go on."""
    database.run(
        "insert into control (name, value) values ('paused', ?) on conflict do nothing",
        (format_time(now),),
    )


def unpause(database: Database) -> bool:
    """Have the workers go on; tell whether the queue was paused."""
    return database.run("delete from control where name = 'paused'") > 0


def paused_since(database: Database) -> str | None:
    """Return since when the queue is paused, as ISO 8601; None while it is not."""
    return database.noted("paused")


def counts_by_state(database: Database) -> dict[str, int]:
    """Return how many jobs stand where; states that no job is in are left out."""
    rows = database.rows("select state, count(*) as n from job group by state")
    return {row["state"]: row["n"] for row in rows}


def running_by_executor(database: Database) -> dict[str, int]:
    """Return how many slots each executor's jobs hold; one that waits for its job holds none."""
    rows = database.rows(
        f"select executor, count(*) as n from lease where {COUNTED} group by executor"  # noqa: S608
    )
    return {row["executor"]: row["n"] for row in rows}


def waiting_messages(database: Database) -> int:
    """Return the length of huey's queue."""
    return int(database.value("select count(*) from task where queue = ?", (QUEUE,)))


def set_aside(database: Database) -> list[Aside]:
    """Return what was set aside, oldest first."""
    rows = database.rows("select data, reason, set_aside_at from aside order by id")
    return [Aside(bytes(row["data"]), row["reason"], row["set_aside_at"]) for row in rows]
