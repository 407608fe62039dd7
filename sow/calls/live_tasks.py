"""What `--all` names: the tasks of the project that a job is at work on, or will be."""

from contextlib import closing

from sow.calls.caller import Caller
from sow.ids import TaskId
from sow.jobs import jobs
from sow.jobs.database import open_existing_queue
from sow.schema.kinds import kind_of
from sow.state.projects import read_project

PROJECT_ITSELF = TaskId("")
"""Stands for the jobs that are about no task: the checks of the project."""


def live_tasks(caller: Caller, *, and_project: bool = False) -> list[TaskId]:
    """Return the tasks of the project whose job has not ended, the oldest job first.

    With `and_project` a job of the project itself is named as well. Left out are
    jobs in a person's hands, which nobody else may end, and those that the caller
    itself acts for: they cannot end before it does. Raises NoProject and QueueError.
    """
    project = read_project(caller.workspace)
    database = open_existing_queue(caller.workspace)
    if database is None:
        return []
    with closing(database):
        above = jobs.ancestors(database, caller.job_id) if caller.job_id is not None else []
        own = {job.id for job in above}
        return [
            job.task_id
            for job in jobs.active_jobs(database)
            if (job.task_id != PROJECT_ITSELF or and_project)
            and job.project_id == project.id
            and job.id not in own
            and not kind_of(job).is_interactive
        ]
