"""What is on record of jobs that may run in another checkout than that which has queued them.

Owns the SQL of both tables: the ref that others get a job's work by, and what befell it away from
home. There are such tables in a queue that several hosts share, and
nobody else asks. Knows nothing of git.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from sow.ids import AttemptId, JobId, ProjectId, TaskId
from sow.jobs import jobs, records
from sow.jobs.database import Database, Row
from sow.jobs.hosts import host_of
from sow.jobs.store import HOST_MARK
from sow.schema.job import FINAL_STATES
from sow.schema.travel import Event, EventKind, Travel

ENDED = records.among("state", sorted(FINAL_STATES))
OF_THESE = " where job_id in (select cast(value as bigint) from json_each(?))"


def send(database: Database, travel: Travel) -> None:
    """Put on record by which ref other hosts get what a job begins with."""
    records.insert(database, "travel", msgspec.structs.asdict(travel))


def travel_of(database: Database, job_id: JobId) -> Travel | None:
    """Return by which ref others get what a job begins with; None of one that stays at home."""
    return records.first(database, Travel, "travel where job_id = ?", job_id)


class Travelled(NamedTuple):
    """A job that has ended, and what tells its refs."""

    travel: Travel
    project_id: ProjectId
    task_id: TaskId
    attempts: Mapping[int, AttemptId]
    """By their numbers."""
    shares_ref: bool
    """Whether a job that does not count here began with the same ref."""


def ended_before(database: Database, at: float) -> list[Travelled]:
    """Return the jobs that were queued here, may have been away, and ended before `at`.

    A job that still owes its task something does not count.
    """
    rows = database.rows(
        f"""
        select job.id, project_id, task_id, host_id, ref,
            case when {ENDED} and not owes_task and ended_at <= ? then 1 else 0 end as is_over
        from job join travel on travel.job_id = job.id order by job.id
        """,  # noqa: S608 - words of ours
        (at,),
    )
    used = {row["ref"] for row in rows if not row["is_over"]}
    over = [
        row
        for row in rows
        if row["is_over"] and not database.is_elsewhere(f"{HOST_MARK}{row['host_id']}")
    ]
    ids = msgspec.json.encode([row["id"] for row in over]).decode()
    sent = {each.job_id: each for each in records.every(database, Travel, f"travel{OF_THESE}", ids)}
    tried: dict[int, dict[int, AttemptId]] = {}
    for row in database.rows(f"select job_id, number, id from attempt{OF_THESE}", (ids,)):  # noqa: S608
        tried.setdefault(row["job_id"], {})[row["number"]] = AttemptId(row["id"])
    return [
        Travelled(
            sent[JobId(row["id"])],
            ProjectId(row["project_id"]),
            TaskId(row["task_id"]),
            tried.get(row["id"], {}),
            row["ref"] in used,
        )
        for row in over
        if row["id"] in sent
    ]


def host_of_session(database: Database, session_id: str) -> str | None:
    """Return the id of the host on which a session was last at work; None for nowhere."""
    tried = jobs.attempts_on(database, session_id)
    return host_of(tried[-1].worker_id) or database.host_id if tried else None


def add_event(
    database: Database, job_id: JobId, attempt: int, kind: EventKind, data: Mapping[str, Any]
) -> None:
    """Tell what befell a job in an attempt, after all that was told of it; under its lease."""
    last = "select max(place) from event where job_id = ? and attempt = ?"
    place = 1 + int(database.value(last, (job_id, attempt)) or 0)
    database.run(
        "insert into event (job_id, attempt, place, kind, data) values (?, ?, ?, ?, ?)",
        (job_id, attempt, place, kind, msgspec.json.encode(data).decode()),
    )


def events_of(database: Database, job_id: JobId) -> Sequence[Event]:
    """Return what befell a job, in its order.

    A host writes what it likes: `data` is None where that is no JSON.
    """
    sql = "select * from event where job_id = ? order by attempt, place"
    return [_event(row) for row in database.rows(sql, (job_id,))]


def next_event(database: Database, job_id: JobId) -> Event | None:
    """Return the first event of a job that nobody has looked at yet, as `events_of` does."""
    row = database.row(
        "select * from event where job_id = ? and outcome is null order by attempt, place limit 1",
        (job_id,),
    )
    return None if row is None else _event(row)


def _event(row: Row) -> Event:
    fields = {name: row[name] for name in Event.__struct_fields__}
    try:
        data = msgspec.json.decode(fields["data"])
    except (msgspec.MsgspecError, RecursionError):
        data = None
    return Event(**{**fields, "data": data})


def conclude(database: Database, event: Event, outcome: str) -> None:
    """Put on record what came of an event at home; nothing in words is that it was carried out."""
    where = {"job_id": event.job_id, "attempt": event.attempt, "place": event.place}
    records.update(database, "event", where, {"outcome": outcome})
