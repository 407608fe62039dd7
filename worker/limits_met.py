"""Which of a job's next executors goes on, by the usage limits that the records tell of."""

from collections.abc import Sequence

from sow.attempts.fallback import Target, target_of
from sow.executors.base import Verdict
from sow.jobs.usage_limits import limited_until
from sow.schema.job import Job
from worker.context import WorkerContext


def next_target(context: WorkerContext, job: Job, verdict: Verdict) -> Target | None:
    """Return which of a job's next executors goes on; None where none does now or is waited for."""
    target = target_of(limits_of_next(context, job), verdict.resets_at)
    waits = target is not None and target.until is not None
    return None if waits and not context.configuration.retry_on_quota else target


def limits_of_next(context: WorkerContext, job: Job) -> Sequence[float | None]:
    """Return for each of a job's next executors when its limit ends; None where none is known."""
    return [limit_of(context, job, each.executor.name) for each in job.fallback.next]


def limit_of(context: WorkerContext, job: Job, executor: str) -> float | None:
    """Return the same of one executor. What the job itself waits for does not count."""
    return limited_until(context.database, executor, now=context.now(), without=job.id)
