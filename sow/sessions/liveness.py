"""Whether a job of a task lives, asked by commands that would pull the task from under it.

Kept apart from the call itself, so that `sow task set` imports little.
"""

from collections.abc import Mapping

from sow.errors import StateError
from sow.ids import ProjectId, TaskId
from sow.jobs import jobs
from sow.jobs.database import open_existing_queue
from sow.paths import Workspace
from sow.schema.job import Job
from sow.state.projects import read_project

CANCEL_SECONDS = 30.0


class TaskIsRunning(StateError):
    """The task cannot be ended from outside while a job of it lives."""

    def __init__(self, job: Job) -> None:
        super().__init__(
            f"task {job.task_id} has a job that has not ended: job {job.id} ({job.state})",
            hint=f"Wait for it (`sow agent wait {job.task_id}`), "
            "or call again with --cancel-job to end it first.",
        )


def refuse_while_live(
    workspace: Workspace, task_id: TaskId, environ: Mapping[str, str], *, cancel: bool = False
) -> None:
    """Refuse to go on while a job of the task lives; with `cancel`, end that job first.

    Raises TaskIsRunning.
    """
    database = open_existing_queue(workspace)
    if database is None:
        return
    try:
        project_id = ProjectId(read_project(workspace).id)
        job = jobs.live_job(database, project_id, task_id)
        if job is None:
            return
        if not cancel:
            raise TaskIsRunning(job)
        _cancel_and_wait(workspace, environ, job)
    finally:
        database.close()


def _cancel_and_wait(workspace: Workspace, environ: Mapping[str, str], job: Job) -> None:
    from pathlib import Path

    from sow.jobs.database import open_queue
    from sow.sessions.caller import Caller
    from sow.sessions.cancel import cancel_job
    from sow.sessions.wait import Waiter

    caller = Caller(workspace, environ, Path.cwd())
    database = open_queue(workspace)
    try:
        with Waiter(caller, database) as waiter:
            waiter.begin([job.id])
            cancel_job(caller, database, job)
            left = waiter.wait(seconds=CANCEL_SECONDS)
            waiter.delivered(job.id)
        if left:
            raise TaskIsRunning(left[0])
    finally:
        database.close()
