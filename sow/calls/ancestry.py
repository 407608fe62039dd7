"""An agent that calls: it must not wait for its own job, nor for one above it, nor cancel such.

Owns these refusals, and one more: whose own job is to end queues nothing
more. The chain of jobs is `jobs.ancestors`.
"""

from collections.abc import Sequence
from contextlib import suppress

from sow.calls.caller import Caller
from sow.calls.request import Resolved
from sow.errors import StateError
from sow.ids import ProjectId, TaskId
from sow.jobs import jobs
from sow.jobs.database import Database
from sow.jobs.jobs import UnknownJob
from sow.schema.job import Job, JobState


class WaitsForItself(StateError):
    """The call would wait for the very job that makes it."""

    def __init__(self, task_id: str, chain: Sequence[Job]) -> None:
        way = " → ".join(f"{job.task_id} (job {job.id})" for job in chain)
        super().__init__(
            f"task {task_id} cannot wait for itself, nor for a task that waits for it: {way}",
            hint="Set your task's status with `sow task set status …` and stop. Your caller"
            " then decides what to do next.",
        )


class WouldEndItself(StateError):
    """The call would end the very job that makes it, and with it all that this has queued."""

    def __init__(self, job: Job, chain: Sequence[Job]) -> None:
        way = " → ".join(f"{step.task_id} (job {step.id})" for step in chain)
        super().__init__(
            f"job {job.id} of task {job.task_id} is your own job, or one that started it: {way}",
            hint="Give the id of the task to cancel; without an id the command means your own"
            " task. To end your own job, set your task's status with `sow task set status"
            " …` and stop.",
        )


def refuse_when_cancelled(caller: Caller, database: Database) -> None:
    """Refuse to queue a job for an agent whose own was cancelled: it cannot outrun that.

    Asked in the transaction that puts the new job on record. The request and
    the jobs that it takes along are one transaction too, so a new job is
    either among those or refused here. Raises StateError.
    """
    if caller.job_id is None:
        return
    with suppress(UnknownJob):
        own = jobs.get_job(database, caller.job_id)
        over_by_itself = own.state in (JobState.DONE, JobState.FAILED)
        if own.cancel_requested_at is not None and not over_by_itself:
            job = own
            raise StateError(
                f"job {job.id} (task {job.task_id}) was cancelled, so it cannot queue other jobs",
                hint="sow ends its agent and the jobs that it has queued.",
            )


def refuse_ancestors(caller: Caller, database: Database, resolved: Resolved) -> None:
    """Refuse a call of an agent that would wait for its own job, or for a job above it."""
    if caller.job_id is not None:
        task = (resolved.project_id, TaskId(resolved.task.id))
        _refuse_task_in(jobs.ancestors(database, caller.job_id), task)


def refuse_task_of_ancestor(
    caller: Caller, database: Database, project_id: ProjectId, task_id: TaskId
) -> None:
    """Refuse an agent's call that would wait until its own task, or one above it, is free."""
    if caller.job_id is not None:
        _refuse_task_in(jobs.ancestors(database, caller.job_id), (project_id, task_id))


def tasks_above(caller: Caller, database: Database, project_id: ProjectId) -> frozenset[TaskId]:
    """Return the tasks of a project that an agent's own job, and those above it, are about."""
    if caller.job_id is None:
        return frozenset()
    chain = jobs.ancestors(database, caller.job_id)
    return frozenset(job.task_id for job in chain if job.project_id == project_id)


def refuse_waiting_on_ancestor(caller: Caller, database: Database, job: Job) -> None:
    """Refuse to let an agent wait for a job of its own task, or of one above it."""
    if caller.job_id is not None:
        chain = jobs.ancestors(database, caller.job_id)
        _refuse_task_in(chain, (job.project_id, job.task_id))


def refuse_ending_ancestor(caller: Caller, database: Database, job: Job) -> None:
    """Refuse to let an agent end its own job, or one above it. Raises WouldEndItself."""
    if caller.job_id is not None:
        chain = jobs.ancestors(database, caller.job_id)
        for index, ancestor in enumerate(chain):
            if ancestor.id == job.id and not ancestor.state.is_final:
                raise WouldEndItself(job, chain[: index + 1])


def _refuse_task_in(chain: Sequence[Job], task: tuple[ProjectId, TaskId]) -> None:
    for index, job in enumerate(chain):
        if (job.project_id, job.task_id) == task:
            raise WaitsForItself(task[1], chain[: index + 1])
