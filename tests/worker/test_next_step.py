"""By what an attempt's ending is judged, and which earlier attempts count."""

import msgspec
import pytest
from watch_cases import WatchSite

from sow.attempts.retry import Next, Step
from sow.executors.base import Verdict
from sow.schema.causes import Cause
from sow.schema.job import Job
from sow.schema.step_result import StepResult
from worker.kinds.work.kind import KIND
from worker.next_step import prevented_before, spent_by
from worker.running import Running


def after_failed_setup(site: WatchSite, job: Job) -> Running:
    """Return an attempt of a job whose setup of the clone has failed and says so."""
    attempt = site.attempt(job)
    site.lease(job)
    result = StepResult(attempt=attempt.attempt_id, cause=Cause.SETUP_FAILED, reason="npm ci: 1")
    attempt.paths.result.write_bytes(msgspec.json.encode(result))
    return site.adopt(job)


def test_a_setup_that_failed_is_the_cause(site: WatchSite) -> None:
    job = site.job()
    verdict = KIND.judge(site.context, after_failed_setup(site, job), site.get(job), None)
    assert (verdict.cause, verdict.reason) == (Cause.SETUP_FAILED, "npm ci: 1")


def test_a_cancelled_job_is_cancelled_whatever_its_setup_has_left(site: WatchSite) -> None:
    job = site.job()
    running = after_failed_setup(site, job)
    cancelled = msgspec.structs.replace(site.get(job), cancel_requested_at=site.context.now())
    assert KIND.judge(site.context, running, cancelled, None).cause is Cause.CANCELLED


@pytest.mark.parametrize(
    ("earlier", "counted"),
    [
        ((), 0),
        ((Cause.PREVENTED, Cause.SETUP_PREVENTED), 2),
        ((Cause.PREVENTED, Cause.PREVENTED, Cause.CRASHED, Cause.PREVENTED), 1),
        ((Cause.PREVENTED, Cause.CRASHED), 0),
    ],
)
def test_only_attempts_in_a_row_that_were_prevented_count(
    site: WatchSite, earlier: tuple[Cause, ...], counted: int
) -> None:
    job = site.job()
    for cause in earlier:
        site.attempt(job, cause=cause)
    site.attempt(job)
    site.lease(job)
    verdict = Verdict(Cause.PREVENTED, "the disk is full")
    assert prevented_before(site.context, site.adopt(job), verdict) == counted


@pytest.mark.parametrize(
    ("cause", "deaths"), [(Cause.WORKER_DIED, 3), (Cause.PREVENTED, 3), (Cause.CRASHED, 0)]
)
def test_each_retry_is_counted_and_deaths_only_in_a_row(
    site: WatchSite, cause: Cause, deaths: int
) -> None:
    job = site.job(retries=1, worker_deaths=2)
    site.attempt(job)
    site.lease(job)
    following = Next(Step.RETRY, retries=1, worker_deaths=1)
    spent = spent_by(site.get(job), site.adopt(job), Verdict(cause, "why"), following)
    assert (spent["settled"], spent["retries"], spent["worker_deaths"]) == (1, 2, deaths)
