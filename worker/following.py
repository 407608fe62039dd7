"""What an attempt's end leads to, written of its job: the job's own end, or its next turn.

Owns the last look before that write, in the transaction that makes it, and the
commit itself. What becomes of the task is `agent_end`'s and `step_end`'s.
"""

from typing import Any

from sow.attempts.retry import Next, Step
from sow.clock import format_duration
from sow.executors.base import Verdict
from sow.jobs import jobs, leases
from sow.schema.causes import Cause
from sow.schema.job import Job, JobState, Lease
from sow.schema.task import TaskStatus
from worker.context import WorkerContext, tell
from worker.job_end import end
from worker.task_state import first_line

FINAL_STATES_OF = {
    Step.DONE: JobState.DONE,
    Step.FAIL: JobState.FAILED,
    Step.CANCEL: JobState.CANCELLED,
}
"""How a job ends by the steps that end one."""


class Outdated(Exception):
    """The task, or the wish of a person, is not what the verdict was found on any more."""


def refuse_cancelled(context: WorkerContext, job: Job) -> None:
    """Raise Outdated where somebody has cancelled the job since: it neither goes on nor fails."""
    try:
        leases.refuse_if_asked(context.database, job.id)
    except leases.EndIsAsked as error:
        raise Outdated from error


def refuse_raised(context: WorkerContext, job: Job, verdict: Verdict) -> None:
    """Raise Outdated where the budget that has ended an attempt has another figure by now."""
    is_reached = verdict.cause is Cause.BUDGET_REACHED
    if is_reached and jobs.get_job(context.database, job.id).budgets != job.budgets:
        raise Outdated


def follow(
    context: WorkerContext,
    job: Job,
    lease: Lease,
    verdict: Verdict,
    following: Next,
    status: TaskStatus | None,
    spent: dict[str, Any],
) -> bool:
    """Write of the job what follows, in the open transaction; tell whether it has ended.

    `status` is how its task stands now; `tell_of_end` comes after the commit.
    """
    state = FINAL_STATES_OF.get(following.step)
    if state is None:
        _again(context, job, lease, verdict, following, spent)
        return False
    end(context, lease, state, verdict, status, **spent)
    return True


def _again(
    context: WorkerContext,
    job: Job,
    lease: Lease,
    verdict: Verdict,
    following: Next,
    spent: dict[str, Any],
) -> None:
    now = context.now()
    parked = following.step is Step.PARK
    waits = following.retry_at > now
    state = JobState.PARKED if parked else JobState.BACKOFF if waits else JobState.QUEUED
    when = f"again in {format_duration(following.retry_at - now)}" if waits else ""
    tell(job, f"{verdict.cause}: {first_line(verdict.reason)}; {state} {when}".rstrip())
    leases.requeue(
        context.database,
        lease,
        state=state,
        retry_at=following.retry_at,
        now=now,
        cause=verdict.cause,
        reason=verdict.reason,
        **spent,
    )
