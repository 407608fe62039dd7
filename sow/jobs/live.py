"""Whether a task has a job that has not ended. Imports no records: most tasks have none."""

from sow.ids import ProjectId, TaskId
from sow.jobs.database import ACTIVE, Database

OWN = f"job where project_id = ? and task_id = ? and {ACTIVE}"
"""The job of a task that lives."""
SHARED = """job where id = (
    select job_id from occupied where project_id = ? and task_id = ? and is_live)"""
"""One that is about others as well."""
EITHER = f"select exists (select 1 from {OWN}) or exists (select 1 from {SHARED})"  # noqa: S608


def has_live_job(database: Database, project_id: ProjectId, task_id: TaskId) -> bool:
    """Whether a job of a task has not ended; it may be about others as well."""
    return bool(database.value(EITHER, (project_id, task_id) * 2))
