"""Jobs that never came to run: their placing failed, their caller died, somebody cancelled them.

Owns what becomes of such a job and its task: queued where the task is marked
as taken already, undone otherwise. The call itself, the next call of the task
and a worker's recovery all ask here; whoever comes first settles it.
"""

from sow.ids import ProjectId
from sow.jobs import jobs, leases, waiters, workers
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.processes import facts
from sow.processes.facts import Life
from sow.schema.job import Cause, Job, JobState, Verb
from sow.schema.task import Task, TaskStatus
from sow.state import transitions
from sow.state.projects import read_project
from sow.state.tasks import change_task, read_task


def is_abandoned(job: Job) -> bool:
    """Whether a job is still `preparing` though the caller that prepared it is gone."""
    if job.state is not JobState.PREPARING:
        return False
    return job.caller is None or facts.life_of(job.caller) is Life.DEAD


def finish(workspace: Workspace, database: Database, job: Job, *, now: float) -> JobState:
    """Queue an abandoned job whose task is marked, undo any other; return the state it is in.

    Its project must be checked out.
    """
    if not _is_marked(job, read_task(workspace, job.task_id)):
        undo(workspace, database, job, reason="its caller died before the job was queued", now=now)
    else:
        with database.transaction():
            if jobs.get_job(database, job.id).state is JobState.PREPARING:
                leases.enqueue(database, job.id, now=now)
        workers.wake(workspace)
    return jobs.get_job(database, job.id).state


def _is_marked(job: Job, task: Task) -> bool:
    """Whether the caller came as far as taking the task.

    A spawn of a task that was `in_progress` before may lack its new session.
    """
    taken_anew = job.prior_status is not TaskStatus.IN_PROGRESS or job.verb is Verb.RESUME
    return task.status is TaskStatus.IN_PROGRESS and taken_anew


def undo(
    workspace: Workspace,
    database: Database,
    job: Job,
    *,
    reason: str,
    now: float,
    known_to: str | None = None,
) -> None:
    """End a job that is not queued yet, and give its task back; nothing if it has gone on.

    `known_to` is the waiter that is told so in another way, and is owed nothing.
    """
    with database.transaction():
        state = jobs.get_job(database, job.id).state
        if state in (JobState.PREPARING, JobState.CANCELLED):
            waiters.withdraw(database, workspace, job.id, known_to=known_to)
        if state is not JobState.PREPARING:
            return
        jobs.change_job(
            database,
            job.id,
            state=JobState.CANCELLED,
            cause=Cause.CANCELLED,
            reason=reason,
            outcome_status=job.prior_status,
            ended_at=now,
        )
    waiters.ring_job(database, workspace, job.id)
    if read_task(workspace, job.task_id).status is TaskStatus.IN_PROGRESS:
        give_back(workspace, database, job, ran=False, now=now)


def give_back(workspace: Workspace, database: Database, job: Job, *, ran: bool, now: float) -> None:
    """Give the task of an ended job its earlier status, or `paused` once an agent of it has run.

    A task that another call has taken meanwhile is left to that one.
    """

    def change(task: Task) -> transitions.FieldChanges:
        taken = jobs.live_job(database, job.project_id, job.task_id) is not None
        if taken or task.status is not TaskStatus.IN_PROGRESS:
            return {}
        if ran:
            return transitions.enter(task, TaskStatus.PAUSED, now=now)
        prior = job.prior_status or TaskStatus.PENDING
        return transitions.undo(task, prior, resumed=job.verb is Verb.RESUME)

    if ProjectId(read_project(workspace).id) == job.project_id:
        change_task(workspace, job.task_id, change, now=now)
