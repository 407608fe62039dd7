"""The job that a task's id stands for, where a command of tasks speaks of how the task was run."""

from sow.errors import StateError
from sow.ids import ProjectId, TaskId
from sow.jobs import jobs
from sow.jobs.database import Database, open_existing_queue
from sow.paths import Workspace
from sow.schema.job import Job
from sow.state.projects import read_project
from sow.state.tasks import find_task


class NoJobYet(StateError):
    """The task has never been spawned, or what is known of it was pruned."""

    def __init__(self, task_id: TaskId) -> None:
        super().__init__(
            f"task {task_id} has no job yet", hint=f"`sow agent spawn {task_id}` queues one."
        )


def find_last_job(workspace: Workspace, database: Database, task_id: TaskId) -> Job:
    """Return the newest job of a task. Raises NoProject, UnknownTask, NoJobYet."""
    find_task(workspace, task_id)
    job = jobs.last_job(database, ProjectId(read_project(workspace).id), task_id)
    if job is None:
        raise NoJobYet(task_id)
    return job


def open_last_job(workspace: Workspace, task_id: TaskId) -> tuple[Database, Job]:
    """Return the queue's records, which the caller closes, and the newest job of a task in them.

    Raises what `find_last_job` raises.
    """
    find_task(workspace, task_id)
    database = open_existing_queue(workspace)
    if database is None:
        raise NoJobYet(task_id)
    try:
        return database, find_last_job(workspace, database, task_id)
    except BaseException:
        database.close()
        raise
