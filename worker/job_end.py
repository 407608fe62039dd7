"""How the job of an attempt goes on or ends, written by the worker that holds it.

Owns the last look before that write, in the transaction that makes it; the ends of jobs whose
agent never ran; and what is told and rung after the commit. How a job ends is written by
`sow.calls.job_end`. A task that cannot be written then is owed its status (`owes_task`).
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from sow.attempts.fallback import after_left
from sow.attempts.judge import CANCELLED
from sow.attempts.retry import Next, Step
from sow.calls import job_end
from sow.clock import format_duration
from sow.errors import ExecutorError, QueueError, SowError, StateError
from sow.executors.base import Verdict
from sow.executors.executor_errors import ExecutorBinaryNotFound
from sow.jobs import jobs, leases, waiters
from sow.jobs.end_entries import log_end
from sow.sandbox.probe import SandboxUnavailable
from sow.schema.causes import Cause
from sow.schema.job import Job, JobState, Lease
from sow.schema.kinds import kind_of
from sow.schema.task import Task, TaskStatus
from worker.context import WorkerContext, tell
from worker.features import worker_features
from worker.task_state import change_under_lease, first_line, leaves, log_failure

OF_CLONES = ("sow.clones.", "sow.git.")
"""Whose errors say that there can be no clone as things stand."""
FINAL_STATES_OF = {
    Step.DONE: JobState.DONE,
    Step.FAIL: JobState.FAILED,
    Step.CANCEL: JobState.CANCELLED,
}
"""How a job ends by the steps that end one."""


class Outdated(Exception):
    """The verdict no longer fits: the task or a limit has changed, or the job was cancelled."""


def fail_before_start(
    context: WorkerContext,
    job: Job,
    lease: Lease,
    error: SowError,
    *,
    cause: Cause | None = None,
    on_record: Mapping[str, Any] | None = None,
) -> None:
    """End a job whose agent could not be started; task and job say why.

    `on_record` are further fields of the job's record.
    """
    _look_if_last(context, job)
    now = context.now()
    spent = dict(on_record or {})
    reason = after_left(job, error.message)
    if not kind_of(job).marks_task:
        found = Cause.CONFIGURATION if isinstance(error, StateError) else cause_of(error)
        end_unwritten(context, job, lease, Verdict(cause or found, reason), **spent)
        return

    def change(task: Task) -> Mapping[str, Any]:
        leases.refuse_if_asked(context.database, job.id)
        if task.status is TaskStatus.PENDING:  # its call did not live to mark it
            task = replace(task, status=TaskStatus.IN_PROGRESS)
        return leaves(task, TaskStatus.FAILED, now)

    status: TaskStatus | None = None
    try:
        with suppress(StateError):  # a state that cannot be written must not keep the job alive
            status = change_under_lease(context, job, lease, change).status
            log_failure(context, job, reason)
    except leases.EndIsAsked:
        cancel_unstarted(context, job, lease)
        return
    verdict = Verdict(cause or cause_of(error), reason)
    if status is None:
        end_unwritten(context, job, lease, verdict, **spent)
        return
    end(context, lease, JobState.FAILED, verdict, status, **spent)
    tell_of_end(context, job)


def cancel_unstarted(context: WorkerContext, job: Job, lease: Lease) -> None:
    """End a job that was cancelled while no agent of it runs, and give its task back."""
    _look_if_last(context, job)
    reason = _cancelled(context, job)
    job_end.cancel(context.database, job, reason=reason, now=context.now(), lease=lease)
    _conclude(context, job)


def _look_if_last(context: WorkerContext, job: Job) -> None:
    """Put back what agents that have ended meanwhile took: after the last job nobody does."""
    if not leases.is_any_other_leased(context.database, job.id):
        context.state.look()


def _cancelled(context: WorkerContext, job: Job) -> str:
    """Return in words when a job was cancelled whose attempt, if it has one, has ended."""
    attempt = jobs.last_attempt(context.database, job.id)
    if attempt is None:
        return "cancelled before it was started"
    if attempt.number > job.settled:
        return CANCELLED.reason
    return "cancelled before it was started again"


def _conclude(context: WorkerContext, job: Job) -> None:
    """Give back what a job that has ended owes its task; what cannot be given now stays owed."""
    try:
        job_end.conclude(context.workspace, context.database, job, now=context.now())
    except StateError as error:
        tell(job, f"its task cannot be updated yet: {error.message}")
    tell(job, _story(jobs.get_job(context.database, job.id)))


def cause_of(error: SowError) -> Cause:
    """Return the cause that an error before the start stands for."""
    match error:
        case StateError() if type(error).__module__.startswith(OF_CLONES):
            return Cause.SETUP_FAILED  # no agent has had a hand in it
        case StateError():
            return Cause.STATE_UNREADABLE
        case ExecutorBinaryNotFound():
            return Cause.MISSING_BINARY
        case SandboxUnavailable():
            return Cause.SANDBOX_FAILED
        case QueueError():
            return Cause.FOLDER_UNUSABLE
        case ExecutorError():
            return Cause.SESSION_UNKNOWN  # its CLI could not make another
        case _:
            return Cause.CONFIGURATION


def end(
    context: WorkerContext,
    lease: Lease,
    state: JobState,
    verdict: Verdict,
    status: TaskStatus | None,
    **spent: Any,
) -> None:
    """Write how a job has ended; `tell_of_end` follows when that is committed."""
    job_end.end(
        context.database,
        lease.job_id,
        state=state,
        cause=verdict.cause,
        reason=verdict.reason,
        now=context.now(),
        lease=lease,
        outcome_status=status,
        **spent,
    )


def end_unwritten(
    context: WorkerContext, job: Job, lease: Lease, verdict: Verdict, **spent: Any
) -> None:
    """End a job as failed whose task is not written: one that is marked is owed that status.

    One that somebody has cancelled is cancelled instead.
    """
    try:
        with leases.under(context.database, lease):
            leases.refuse_if_asked(context.database, job.id)
            owes = kind_of(job).marks_task
            end(context, lease, JobState.FAILED, verdict, None, owes_task=owes, **spent)
    except leases.EndIsAsked:
        cancel_unstarted(context, job, lease)
    else:
        _conclude(context, job)


class Ended(NamedTuple):
    """A job that has ended."""

    job: Job
    waiting: Sequence[str]
    """Who is to be rung."""


def ended_job(context: WorkerContext, job: Job) -> Ended:
    """Return a job that has ended; also in the transaction that ends it.

    Whoever comes to wait for it after that transaction sees that it has ended.
    """
    with context.database.reading():
        waiting = waiters.of_job(context.database, job.id)
        return Ended(jobs.get_job(context.database, job.id), waiting)


def tell_of_end(
    context: WorkerContext,
    job: Job,
    ended: Ended | None = None,
    *,
    attempt: int | None = None,
    folder: Path | None = None,
) -> None:
    """Say how a job has ended, in a log too, and ring those who wait; after the commit.

    `ended` is what `ended_job` has returned, `attempt` the number of the job's last one and
    `folder` that of its task, where they are known.
    """
    ended = ended or ended_job(context, job)
    workspace, database = context.workspace, context.database
    if log_end(workspace, database, ended.job, attempt=attempt, folder=folder):
        context.told_ends.add(job.id)
    tell(job, _story(ended.job))
    waiters.ring(workspace, ended.waiting)


def _story(job: Job) -> str:
    ended_at = job.ended_at or job.created_at
    took = format_duration(ended_at - (job.started_at or ended_at))
    summary = f"{job.state}: {job.outcome_status or 'no status'} after {took}"
    if not kind_of(job).marks_task:
        summary = f"{job.state} after {took}"
    return f"{summary}: {first_line(job.reason)}" if job.reason else summary


def refuse_cancelled(context: WorkerContext, job: Job) -> None:
    """Raise Outdated where somebody has cancelled the job since: it neither goes on nor fails."""
    try:
        leases.refuse_if_asked(context.database, job.id)
    except leases.EndIsAsked as error:
        raise Outdated from error


def refuse_raised(context: WorkerContext, job: Job, verdict: Verdict) -> None:
    """Raise Outdated where the limit that has ended an attempt has another figure by now."""
    if any(feature.is_outdated(context, job, verdict) for feature in worker_features()):
        raise Outdated


def follow(
    context: WorkerContext,
    job: Job,
    lease: Lease,
    verdict: Verdict,
    next_step: Next,
    status: TaskStatus | None,
    spent: dict[str, Any],
) -> bool:
    """Write of the job what follows, in the open transaction; tell whether it has ended.

    `status` is how its task stands now; `tell_of_end` comes after the commit.
    """
    state = FINAL_STATES_OF.get(next_step.step)
    if state is None:
        _again(context, job, lease, verdict, next_step, spent)
        return False
    end(context, lease, state, verdict, status, **spent)
    return True


def _again(
    context: WorkerContext,
    job: Job,
    lease: Lease,
    verdict: Verdict,
    next_step: Next,
    spent: dict[str, Any],
) -> None:
    now = context.now()
    parked = next_step.step is Step.PARK
    waits = next_step.retry_at > now
    state = JobState.PARKED if parked else JobState.BACKOFF if waits else JobState.QUEUED
    when = f"again in {format_duration(next_step.retry_at - now)}" if waits else ""
    tell(job, f"{verdict.cause}: {first_line(verdict.reason)}; {state} {when}".rstrip())
    leases.requeue(
        context.database,
        lease,
        state=state,
        retry_at=next_step.retry_at,
        now=now,
        cause=verdict.cause,
        reason=verdict.reason,
        **spent,
    )
