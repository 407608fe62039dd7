"""How an attempt ended, in a word; why a job was tried again; what its agents used. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence

from sow.reports.costs import cost_sum
from sow.schema.causes import Cause
from sow.schema.job import Attempt, Job
from sow.schema.output.costs import CostSum
from sow.schema.spending import Used

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


def used_or_none(used: Used | None) -> CostSum | None:
    """Return what agents used; None where none ran."""
    return cost_sum(used) if used is not None and used.runs else None
