"""The records of jobs that have ended: which there are, and how they are removed.

Owns the SQL of pruning. Which jobs may go is `pruning`'s to say.
"""

from collections.abc import Sequence
from typing import NamedTuple

from sow.ids import JobId, ProjectId, TaskId
from sow.jobs import records
from sow.jobs.database import Database
from sow.schema.job import FINAL_STATES

ENDED = records.among("state", sorted(FINAL_STATES))


class Ended(NamedTuple):
    """A job that has ended. Times are seconds since the epoch."""

    id: JobId
    project_id: ProjectId
    task_ids: tuple[TaskId, ...]
    """The tasks that it was about, its own first; its own is empty for the project as a whole."""
    ended_at: float
    project_used_at: float
    """When the newest job of its project was asked for."""
    is_awaited: bool
    """Whether its outcome is still owed to a caller."""


def ended_jobs(database: Database) -> list[Ended]:
    """Return every job that is over, the one that ended first first; none that owes its task."""
    rows = database.rows(
        f"""
        select id, project_id, task_id, ended_at,
            (select max(created_at) from job as newest where newest.project_id = job.project_id)
                as project_used_at,
            (select group_concat(occupied.task_id, ' ') from occupied
                where occupied.job_id = job.id) as others,
            exists (select 1 from waiter where waiter.job_id = job.id and id not glob 'p*')
                as is_awaited
        from job
        where {ENDED} and ended_at is not null and not owes_task
        order by ended_at, id
        """  # noqa: S608 - words of ours
    )
    return [
        Ended(
            JobId(row["id"]),
            ProjectId(row["project_id"]),
            (TaskId(row["task_id"]), *map(TaskId, (row["others"] or "").split())),
            row["ended_at"],
            row["project_used_at"],
            bool(row["is_awaited"]),
        )
        for row in rows
    ]


def forget(database: Database, job_ids: Sequence[JobId]) -> None:
    """Remove jobs, their attempts and who waited for them. They must have ended."""
    ids = [(job_id,) for job_id in job_ids]
    with database.transaction():
        for table, column in (("waiter", "job_id"), ("attempt", "job_id"), ("job", "id")):
            for key in ids:
                database.run(f"delete from {table} where {column} = ?", key)  # noqa: S608
