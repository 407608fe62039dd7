"""What a view of everything asks of many jobs at once."""

from collections.abc import Sequence

from sow.ids import JobId
from sow.jobs import records
from sow.jobs.database import Database
from sow.jobs.jobs import IDS_AT_ONCE
from sow.schema.job import Job


def attempt_counts(database: Database, job_ids: Sequence[JobId]) -> dict[JobId, int]:
    """Return how many attempts some jobs have had; a job without one is left out."""
    found: dict[JobId, int] = {}
    for start in range(0, len(job_ids), IDS_AT_ONCE):
        some = job_ids[start : start + IDS_AT_ONCE]
        marks = ", ".join("?" * len(some))
        rows = database.rows(
            f"select job_id, count(*) as n from attempt where job_id in ({marks}) group by job_id",  # noqa: S608
            some,
        )
        found |= {JobId(row["job_id"]): row["n"] for row in rows}
    return found


def running_jobs(database: Database) -> list[Job]:
    """Return the jobs that run, oldest first; a record that cannot be read hides no other."""
    rows = database.rows("select * from job where state = 'running' order by id")
    return records.readable(rows, Job, lambda _: None)
