"""Cancelling a job: at once while it waits, by its worker while it runs.

Owns the request and what becomes of the task of a job that never ran. Ending a
running agent's tree is its supervisor's.
"""

from sow.errors import StateError
from sow.ids import ProjectId, TaskId
from sow.jobs import jobs, leases, waiters, workers
from sow.jobs.database import Database
from sow.schema.job import Cause, Job, JobState, Verb
from sow.schema.task import TaskStatus
from sow.sessions.caller import Caller
from sow.sessions.unfinished import give_back
from sow.state.projects import read_project
from sow.state.tasks import read_task


class NothingToCancel(StateError):
    """There is no job that could be cancelled."""

    def __init__(self, task_id: str, ended: Job | None = None) -> None:
        what = f"job {ended.id} has ended" if ended else "it has no job that runs or waits"
        super().__init__(
            f"nothing to cancel of task {task_id}: {what}",
            hint=f"`sow job list --task {task_id}` shows the jobs it had.",
        )


class TooLate(StateError):
    """The agent has reported already; its report stands."""

    def __init__(self, job: Job, status: TaskStatus | None) -> None:
        super().__init__(
            f"too late to cancel job {job.id}: its agent has already left {status}",
            hint=f"`sow agent wait {job.task_id}` waits until it has ended.",
        )


class OpenOnTerminal(StateError):
    """A person is at work in the session; that is not for anybody else to end."""

    def __init__(self, job: Job) -> None:
        where = f" by process {job.caller.pid}" if job.caller else ""
        super().__init__(
            f"the session of task {job.task_id} is open on a terminal (job {job.id}{where})",
            hint="Close it there; the task is free again then.",
        )


def live_job_of(caller: Caller, database: Database, task_id: TaskId) -> Job:
    """Return the job of a task that has not ended. Raises NothingToCancel."""
    project_id = ProjectId(read_project(caller.workspace).id)
    job = jobs.live_job(database, project_id, task_id)
    if job is None:
        raise NothingToCancel(task_id)
    return job


def cancel_job(caller: Caller, database: Database, job: Job) -> Job:
    """Cancel a job and return it: ended, or running with its end asked for.

    Raises NothingToCancel, TooLate, OpenOnTerminal.
    """
    if job.verb is Verb.OPEN and not job.state.is_final:
        raise OpenOnTerminal(job)
    if _cancel_waiting(caller, database, job):
        ran = jobs.last_attempt(database, job.id) is not None
        give_back(caller.workspace, database, job, ran=ran, now=caller.now())
        waiters.ring_job(database, caller.workspace, job.id)
    else:
        _request_end(caller, database, job)
    workers.wake(caller.workspace)
    return jobs.get_job(database, job.id)


def _cancel_waiting(caller: Caller, database: Database, job: Job) -> bool:
    """End a job that no worker holds, in one transaction; False when one does."""
    now = caller.now()
    with database.transaction():
        current = jobs.get_job(database, job.id)
        if current.state.is_final:
            raise NothingToCancel(job.task_id, current)
        leases.withdraw(database, job.id)
        if leases.lease_of(database, job.id) is not None:
            return False
        ran = jobs.last_attempt(database, job.id) is not None
        jobs.change_job(
            database,
            job.id,
            state=JobState.CANCELLED,
            cause=Cause.CANCELLED,
            reason="cancelled while it waited",
            outcome_status=TaskStatus.PAUSED if ran else job.prior_status,
            cancel_requested_at=now,
            ended_at=now,
        )
        return True


def _request_end(caller: Caller, database: Database, job: Job) -> None:
    """Ask the worker that runs the job to end its agent, unless the agent has reported."""
    status = _status(caller, job)
    if status not in (None, TaskStatus.IN_PROGRESS, TaskStatus.PENDING):
        raise TooLate(job, status)
    jobs.change_job(database, job.id, cancel_requested_at=caller.now())


def _status(caller: Caller, job: Job) -> TaskStatus | None:
    """Return the status of a job's task; None where another project, or nothing valid, is there."""
    try:
        if read_project(caller.workspace).id != job.project_id:
            return None
        return read_task(caller.workspace, job.task_id).status
    except StateError:
        return None
