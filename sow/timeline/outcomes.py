"""What became of an attempt, in a word; and for which causes a job was tried again. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence

from sow.schema.causes import Cause
from sow.schema.job import Attempt, Job

WELL = frozenset({Cause.REPORTED, Cause.PASSED})
ASKED_FOR = frozenset({Cause.CANCELLED, Cause.WORKER_STOPPED, Cause.CLOSED})
"""Somebody has ended it; nothing went wrong."""
RUNNING, GOOD, ENDED, FAILED = "running", "well", "ended", "failed"


def outcome_of(job: Job, attempt: Attempt) -> str:
    """Return whether an attempt runs, went well, was ended on purpose, or failed."""
    if attempt.cause is None:
        return FAILED if job.state.is_final or attempt.ended_at is not None else RUNNING
    if attempt.cause in WELL:
        return GOOD
    return ENDED if attempt.cause in ASKED_FOR else FAILED


def retries_of(attempts: Sequence[Attempt]) -> Mapping[str, int]:
    """Return how often a job was tried again, by the cause that ended the attempt before."""
    return Counter(attempt.cause or "unknown" for attempt in attempts[:-1])
