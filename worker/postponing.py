"""A start that this machine would not allow just now: the job waits, and is tried again.

Owns the wait before the next try, which grows from one to the next. The job is
not at fault, so none of this is a retry, and it never fails for it.
"""

from sow.clock import format_duration
from sow.jobs import leases
from sow.schema.job import Job, JobState, Lease
from worker.context import WorkerContext, tell

FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 60.0
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


def wait_before(postponements: int) -> float:
    """Return how long a job waits that has been put off so often in a row, in seconds."""
    doublings = min(postponements, 16)  # far beyond the longest wait, and no huge number
    return min(FIRST_WAIT_SECONDS * 2.0**doublings, LONGEST_WAIT_SECONDS)


def _wait(
    context: WorkerContext, job: Job, lease: Lease, reason: str, seconds: float, **changes: int
) -> None:
    now = context.now()
    tell(job, f"cannot be started now: {reason}; again in {format_duration(seconds)}")
    leases.requeue(
        context.database,
        lease,
        state=JobState.BACKOFF,
        retry_at=now + seconds,
        now=now,
        cause=None,
        reason=f"cannot be started now: {reason}",
        **changes,
    )
