"""The queries of a report: the records of the jobs of a project or a batch, read at once.

Owns the SQL of these rows. Reads only; a damaged row hides no other.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from sow.ids import BatchId, JobId, ProjectId
from sow.jobs import records, spending
from sow.jobs.database import Database
from sow.jobs.records import DamagedRecord
from sow.schema.change import Change, ChangeKind
from sow.schema.job import Attempt, Job
from sow.schema.spending import Used

MOST_JOBS = 5000
"""A report shows at most this many jobs: the newest."""
OF_TIMELINE = records.among(
    "kind",
    (
        *(ChangeKind(word) for word in ("placed", "queued", "running", "backoff", "parked")),
        *(ChangeKind(word) for word in ("held", "done", "failed", "cancelled")),
        *(OF_TASKS := (ChangeKind.STATUS, ChangeKind.ITEM, ChangeKind.BATCH)),
    ),
)
"""The changes of which a timeline is made."""
OF_NO_JOB = records.among("kind", OF_TASKS)

Tell = Callable[[DamagedRecord], None]


class JobRecords(Struct, frozen=True):
    """The records of some jobs."""

    jobs: Sequence[Job]
    """In the order of their numbers."""
    attempts: Mapping[JobId, Sequence[Attempt]]
    changes: Sequence[Change]
    """Those of these jobs, and of the project's tasks and batches; in their order."""
    used: Mapping[str, Used]
    """What each task's agents used, in all jobs that are told of."""
    costs: Mapping[tuple[int, int], float]
    """What each attempt cost, by its job's number and its own, as far as it is known."""
    total: Used | None
    hosts: Mapping[str, str]
    """What people call the hosts of a shared queue, by their ids; empty for any other queue."""
    left_out: int
    """How many older jobs are on record besides."""


def _hosts(database: Database) -> Mapping[str, str]:
    if not database.is_shared:
        return {}
    from sow.jobs.hosts import names_of  # few queues are shared

    return names_of(database)


def read_records(
    database: Database,
    project_id: ProjectId,
    batch_id: BatchId | None,
    *,
    now: float,
    on_damaged: Tell,
) -> JobRecords:
    """Return what is on record of a project's jobs, or of a batch's.

    No lock is taken: what is written meanwhile is told in part, as anything that still runs is.
    Raises QueueError.
    """
    where, values = "project_id = :project", {"project": project_id, "now": now, "most": MOST_JOBS}
    if batch_id is not None:
        where, values = f"{where} and batch = :batch", {**values, "batch": batch_id}
    chosen = f"select id from job where {where} order by id desc limit :most"  # noqa: S608 - ours
    rows = database.rows(f"select * from job where id in ({chosen}) order by id", values)  # noqa: S608
    count = database.value(f"select count(*) from job where {where}", values)  # noqa: S608
    tries = database.rows(
        f"select * from attempt where job_id in ({chosen}) order by job_id, number",  # noqa: S608
        values,
    )
    changed = database.rows(
        f"select * from change where project = :project and {OF_TIMELINE}"  # noqa: S608
        f" and ({OF_NO_JOB} or job in ({chosen})) order by seq",
        values,
    )
    total, by_task, costs = spending.used_by_jobs(database, chosen, values)
    attempts: dict[JobId, list[Attempt]] = defaultdict(list)
    for attempt in records.readable(tries, Attempt, on_damaged):
        attempts[attempt.job_id].append(attempt)
    return JobRecords(
        jobs=records.readable(rows, Job, on_damaged),
        attempts=attempts,
        changes=records.readable(changed, Change, on_damaged),
        used=by_task,
        costs=costs,
        total=total,
        hosts=_hosts(database),
        left_out=count - len(rows),
    )
