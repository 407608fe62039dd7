"""Whether a task ever had a job: asked by whoever would take it away."""

from contextlib import closing

from sow.errors import StateError
from sow.ids import ProjectId, TaskId
from sow.jobs import jobs
from sow.jobs.database import open_existing_queue
from sow.paths import Workspace
from sow.schema.task import Task
from sow.state.projects import read_project


def refuse_after_jobs(workspace: Workspace, task: Task) -> None:
    """Refuse what may be done only to a task that never had a job.

    Raises StateError, QueueError.
    """
    database = open_existing_queue(workspace)
    if database is None:
        return
    with closing(database):
        project_id = ProjectId(read_project(workspace).id)
        last = jobs.last_job(database, project_id, TaskId(task.id))
    if last is not None:
        job = last
        end = "" if job.state.is_final else f"End it: `sow job cancel {job.id}`. "
        raise StateError(
            f"task {task.id} is not removed: job {job.id} of it is on record ({job.state})",
            hint=f"{end}`sow task abandon {task.id}` gives the task up.",
        )
