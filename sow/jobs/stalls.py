"""What the record of changes says of agents without a sign of life, and what is one: waiting."""

import math

from sow.files import NotAFile, read_regular
from sow.ids import JobId
from sow.jobs import jobs
from sow.jobs.database import ACTIVE, Database
from sow.paths import AttemptPaths
from sow.schema.change import ChangeKind
from sow.schema.job import Job

LONGEST_MARK = 64
"""The largest mark that is read, in bytes: it holds a number."""


def note_stall(database: Database, job: Job, words: str) -> None:
    """Put on the record of changes that a job's agent gives no sign of life."""
    jobs.note_change(database, job, ChangeKind.STALLED, words, batch=job.batch)


def quiet_since(attempt: AttemptPaths) -> float | None:
    """Return when an agent gave its last sign of life, where its worker says that it gives none."""
    try:
        since = float(read_regular(attempt.quiet, LONGEST_MARK))
    except (OSError, NotAFile, ValueError):
        return None
    return since if 0 <= since < math.inf else None


def waits_for_others(database: Database, job_id: JobId) -> bool:
    """Whether an agent's own call waits for a job, or a job that it has placed has not ended."""
    sql = f"""
        select 1 from waiter where on_behalf_of = ?1 union all
        select 1 from job where parent = ?1 and {ACTIVE} limit 1
    """  # noqa: S608 - ours
    return database.row(sql, (job_id,)) is not None
