"""The job that a task's id stands for, where a command of tasks speaks of how the task was run."""

from contextlib import closing

from msgspec import UNSET

from sow.errors import StateError
from sow.ids import ProjectId, TaskId
from sow.jobs import jobs
from sow.jobs.database import Database, open_existing_queue
from sow.jobs.unrecorded_agents import refuse_strays
from sow.paths import Workspace
from sow.schema.job import Job, JobState
from sow.schema.task import Task, TaskStatus
from sow.state.projects import read_project
from sow.state.tasks import find_task, read_task

MOST_JOBS = 1000
"""How many jobs of a task are looked at, the newest."""


class NoJobYet(StateError):
    """The task has never been spawned."""

    def __init__(self, task_id: TaskId) -> None:
        super().__init__(
            f"task {task_id} has no job yet", hint=f"`sow agent spawn {task_id}` queues one."
        )


class NoJobOnRecord(StateError):
    """The task was at work once, and no record tells of it: pruned, or removed with the queue."""

    def __init__(self, task: Task) -> None:
        status = task.status
        if status is TaskStatus.IN_PROGRESS:
            goes_on = f'No agent is working on it; `sow agent resume {task.id} "…"` continues it'
            if not task.session_started:
                goes_on += f", or `sow agent spawn {task.id}` starts it"
        else:
            goes_on = "`sow next` shows what to do next"
        super().__init__(
            f"the job records of task {task.id} no longer exist; the task is {status}",
            hint="They were pruned, or deleted together with the queue file. `sow task show"
            f" {task.id}` and its log show what was done. {goes_on}.",
        )


def find_last_job(workspace: Workspace, database: Database, task_id: TaskId) -> Job:
    """Return the newest job of a task.

    Raises NoProject, UnknownTask, NoJobYet, NoJobOnRecord, and TaskIsCarried
    where an agent is at work of which the queue knows nothing.
    """
    find_task(workspace, task_id)
    job = jobs.last_job(database, ProjectId(read_project(workspace).id), task_id)
    if job is None:
        refuse_strays(workspace, database, task_id)
        raise _no_job(workspace, task_id)
    return job


def present_project(workspace: Workspace) -> ProjectId | None:
    """Return the id of the project that is checked out; None where nobody can tell it."""
    try:
        return ProjectId(read_project(workspace).id)
    except StateError:
        return None


def _no_job(workspace: Workspace, task_id: TaskId) -> StateError:
    task = read_task(workspace, task_id)
    never = task.status is TaskStatus.PENDING or task.started_at is UNSET
    return NoJobYet(task_id) if never else NoJobOnRecord(task)


def open_last_job(workspace: Workspace, task_id: TaskId) -> tuple[Database, Job]:
    """Return the queue's records, which the caller closes, and the newest job of a task in them.

    Raises what `find_last_job` raises.
    """
    find_task(workspace, task_id)
    database = open_existing_queue(workspace)
    if database is None:
        raise _no_job(workspace, task_id)
    try:
        return database, find_last_job(workspace, database, task_id)
    except BaseException:
        database.close()
        raise


def forget_withdrawn_jobs(workspace: Workspace, task: Task) -> None:
    """Remove the records of a task's jobs that never ran; refuse a task that has had any other.

    Another task may get its id, and would have had these jobs. For the same reason a task of a
    batch that goes on is refused: the batch would begin the other one. Raises StateError,
    QueueError.
    """
    database = open_existing_queue(workspace)
    if database is None:
        return
    with closing(database):
        project_id = ProjectId(read_project(workspace).id)
        found = jobs.recent_jobs(
            database, limit=MOST_JOBS, project_id=project_id, task_id=TaskId(task.id)
        )
        ran = jobs.attempt_counts(database, [job.id for job in found])
        kept = [job for job in found if job.id in ran or not _was_withdrawn(job)]
        if not kept:
            # Few tasks are removed.
            from sow.jobs import batches, pruning

            batch = batches.open_tasks(database, project_id).get(TaskId(task.id))
            if batch is not None:
                raise StateError(
                    f"task {task.id} cannot be removed: it is in batch {batch}",
                    hint=f"Remove it from the batch first: `sow batch remove {batch} {task.id}`.",
                )
            pruning.forget(database, [job.id for job in found])
            return
    job = kept[0]
    end = "" if job.state.is_final else f"End it: `sow job cancel {job.id}`. "
    raise StateError(
        f"task {task.id} cannot be removed: it has had a job ({job.id}, {job.state})",
        hint=f"{end}`sow task abandon {task.id}` abandons the task instead.",
    )


def _was_withdrawn(job: Job) -> bool:
    """Whether a job of one task alone was cancelled, and its task has its status back."""
    return job.state is JobState.CANCELLED and not job.owes_task and len(job.tasks) <= 1
