"""A job that cannot be started just now, by no fault of its own: it waits, and is tried again.

The machine would not allow it, its project is not checked out, or an agent that
nobody knows of is at work on its task. Owns the wait before the next try. None
of this is a retry, and the job never fails for it.
"""

import os
from typing import Any

from sow.attempts.retry import doubled
from sow.calls.held_jobs import release_accepted
from sow.clock import format_duration
from sow.errors import SowError
from sow.jobs import leases
from sow.schema.job import HeldFor, Job, JobState, Lease
from sow.trust.accepted import NotTrusted
from worker.context import WorkerContext, logger, tell

FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 60.0
ELSEWHERE_SECONDS = 30.0
"""How often it is looked whether a project is checked out again."""
SHARE_SECONDS = 5.0
"""When it is looked at the latest whether agents that ended have left a share."""
STRAY_SECONDS = 3.0
"""How often it is looked whether an agent that nobody knows of has ended."""


def put_off(context: WorkerContext, job: Job, lease: Lease, reason: str) -> None:
    """Queue a job again whose start was prevented; it waits longer each time in a row.

    Raises Fenced, and QueueError where the queue cannot be written: then the
    job keeps its lease, and recovery comes back to it.
    """
    wait = wait_before(job.postponements)
    _wait(context, job, lease, reason, wait, postponements=job.postponements + 1)


def wait_for_stray(context: WorkerContext, job: Job, lease: Lease, reason: str) -> None:
    """Queue a job again on whose task an agent works that the queue knows nothing of."""
    _wait(context, job, lease, reason, STRAY_SECONDS)


def wait_for_share(context: WorkerContext, job: Job, lease: Lease, reason: str) -> None:
    """Queue a job again for which the agents that run have reserved all that is left.

    Nobody takes it until its feature (`on_round`) has seen that it may begin, or has to end: so the
    record of changes tells once that it waits, and once that it goes on.
    """
    _wait(context, job, lease, reason, SHARE_SECONDS, held_for=HeldFor.SHARE)


def wait_for_project(context: WorkerContext, job: Job, lease: Lease, reason: str) -> None:
    """Queue a job again whose project is not checked out. Raises Fenced, EndIsAsked."""
    now = context.now()
    tell(job, f"waits: {reason}")
    leases.requeue(
        context.database,
        lease,
        state=JobState.BACKOFF,
        retry_at=now + ELSEWHERE_SECONDS,
        now=now,
        reason=reason,
    )


def wait_before(postponements: int) -> float:
    """Return how long a job waits that has been put off so often in a row, in seconds."""
    return doubled(FIRST_WAIT_SECONDS, postponements, longest=LONGEST_WAIT_SECONDS)


def _wait(
    context: WorkerContext, job: Job, lease: Lease, reason: str, seconds: float, **changes: Any
) -> None:
    now, where = context.now(), ""
    if context.workspace.host is not None:
        where = f" on host {os.uname().nodename}"
    tell(job, f"cannot be started now{where}: {reason}; again in {format_duration(seconds)}")
    leases.requeue(
        context.database,
        lease,
        state=JobState.BACKOFF,
        retry_at=now + seconds,
        now=now,
        cause=None,
        reason=f"cannot be started now{where}: {reason}",
        **changes,
    )


def hold(context: WorkerContext, job: Job, lease: Lease, error: NotTrusted) -> None:
    """Put a job aside until its command lines are accepted. Raises Fenced, EndIsAsked.

    A job of another checkout is tried again after a while: what its user accepts at home does not
    count here, and another host may have accepted them.
    """
    if context.workspace.host is not None:
        put_off(context, job, lease, error.message)
        return
    tell(job, f"held: {error.message}")
    leases.hold(context.database, lease, reason=error.message)
    release_if_trusted(context)  # it may have been accepted between our look and this commit


def release_if_trusted(context: WorkerContext) -> None:
    """Queue each job that is held once the command lines that it needs are accepted."""
    try:
        released = release_accepted(
            context.workspace, context.database, context.environ, now=context.now()
        )
    except SowError as error:  # broken settings: a job that is started says so
        logger.info("held jobs are checked again: %s", error.message)
        return
    if released:
        logger.info("continues, because its command lines are accepted: job %s", released)
