"""Retries are by cause, not by luck: the contract's table (§8), row by row."""

from typing import Any

import msgspec
import pytest
from attempts.job_values import CLAUDE, make_job
from hypothesis import given
from hypothesis import strategies as st

from sow.attempts.retry import (
    LONGEST_BACKOFF_SECONDS,
    LONGEST_DEATH_BACKOFF_SECONDS,
    LONGEST_PARKING_SECONDS,
    LONGEST_PUT_OFF_SECONDS,
    MOST_PUT_OFF,
    MOST_SHARES,
    RESET_MARGIN_SECONDS,
    Next,
    Step,
    decide,
)
from sow.ids import BatchId
from sow.schema.job import Cause, Job

NOW = 1_000_000.0


def next_step(
    cause: Cause,
    job: Job | None = None,
    *,
    jitter: float = 1.0,
    resets_at: float | None = None,
    can_resume: bool = True,
    session_kept: bool = False,
    ran_in_session: bool = False,
    on_quota: bool = True,
    most_deaths: int = 5,
    excused: bool = False,
    share_left: bool = False,
    prevented: int = 0,
) -> Next:
    return decide(
        cause,
        job or make_job(),
        now=NOW,
        jitter=jitter,
        resets_at=resets_at,
        can_resume=can_resume,
        session_kept=session_kept,
        ran_in_session=ran_in_session,
        on_quota=on_quota,
        most_deaths=most_deaths,
        excused=excused,
        share_left=share_left,
        prevented=prevented,
    )


def after(cause: Cause, job: Job, **facts: Any) -> Job:
    """Return the job as it stands after the step that `cause` leads to."""
    following = next_step(cause, job, **facts)
    spent = (following.correction,) if following.correction else ()
    return msgspec.structs.replace(
        job,
        retries=job.retries + following.retries,
        worker_deaths=job.worker_deaths + following.worker_deaths,
        excused_deaths=job.excused_deaths + following.excused_deaths,
        corrections=(*job.corrections, *spent),
    )


def steps(cause: Cause, count: int, **facts: Any) -> list[Step]:
    """Return what follows when a job ends by the same cause again and again."""
    job = make_job()
    found = []
    for _ in range(count):
        found.append(next_step(cause, job, **facts).step)
        job = after(cause, job, **facts)
    return found


def test_reported_is_done() -> None:
    assert next_step(Cause.REPORTED) == Next(Step.DONE)


def test_cancelled_ends_the_job() -> None:
    assert next_step(Cause.CANCELLED) == Next(Step.CANCEL)


@pytest.mark.parametrize("cause", [Cause.NO_STATUS, Cause.STALLED, Cause.STATE_UNREADABLE])
def test_one_resume_then_failed(cause: Cause) -> None:
    assert steps(cause, 2) == [Step.RETRY, Step.FAIL]


@pytest.mark.parametrize("cause", [Cause.NO_STATUS, Cause.STALLED])
def test_at_once_failed_where_the_executor_cannot_resume(cause: Cause) -> None:
    """ "no status | one resume that asks for it (at once failed where the executor cannot)"."""
    assert steps(cause, 1, can_resume=False) == [Step.FAIL]


def test_remedies_of_different_kinds_do_not_spend_each_other() -> None:
    job = make_job()
    for cause in (Cause.NO_STATUS, Cause.STATE_UNREADABLE, Cause.STALLED):
        assert next_step(cause, job).step is Step.RETRY
        job = after(cause, job)


@pytest.mark.parametrize(
    "cause",
    [
        Cause.AUTH,
        Cause.BAD_MODEL,
        Cause.TOO_LONG,
        Cause.BAD_FLAGS,
        Cause.MISSING_BINARY,
        Cause.SANDBOX_FAILED,
        Cause.FOLDER_UNUSABLE,
        Cause.CONFIGURATION,
        Cause.DENIED,
        Cause.TIMED_OUT,
        Cause.MEMORY_LIMIT,
        Cause.CPU_LIMIT,
        Cause.PROCESS_LIMIT,
        Cause.DISK_LIMIT,
        Cause.INTERNAL,
    ],
)
def test_failed_at_once(cause: Cause) -> None:
    """ "auth, bad model, bad flags, missing binary | failed at once"; "timed out | … failed"."""
    assert next_step(cause) == Next(Step.FAIL)


@pytest.mark.parametrize("cause", [Cause.CRASHED, Cause.API_ERROR])
def test_crashes_are_retried_as_often_as_the_executor_says(cause: Cause) -> None:
    """ "backoff …, then resume; at most `retries`": two by default."""
    assert steps(cause, 3) == [Step.RETRY, Step.RETRY, Step.FAIL]


@pytest.mark.parametrize("cause", [Cause.CRASHED, Cause.API_ERROR])
def test_no_retries_means_none(cause: Cause) -> None:
    job = make_job()
    config = msgspec.structs.replace(job.executor, retries=0)
    assert next_step(cause, msgspec.structs.replace(job, executor=config)) == Next(Step.FAIL)


def test_the_backoff_doubles_from_two_seconds_to_five_minutes() -> None:
    """ "backoff (from 2 s, doubled, jittered, at most 5 min)"."""
    job = make_job()
    patient = msgspec.structs.replace(job.executor, retries=99)
    waits = []
    for retries in range(10):
        again = msgspec.structs.replace(job, executor=patient, retries=retries)
        waits.append(next_step(Cause.CRASHED, again).retry_at - NOW)
    assert waits == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]


@pytest.mark.parametrize("cause", [Cause.PREVENTED, Cause.SETUP_PREVENTED])
def test_what_passes_is_waited_for_and_costs_a_batch_no_retry(cause: Cause) -> None:
    of_batch = msgspec.structs.replace(make_job(), batch=BatchId(1))
    for prevented in range(MOST_PUT_OFF):
        following = next_step(cause, of_batch, prevented=prevented)
        assert (following.step, following.retries) == (Step.RETRY, 0)
        assert NOW < following.retry_at <= NOW + LONGEST_PUT_OFF_SECONDS
    assert next_step(cause, of_batch, prevented=MOST_PUT_OFF).step is Step.FAIL
    by_hand = make_job()
    assert next_step(cause, by_hand, prevented=by_hand.most_retries - 1).step is Step.RETRY
    assert next_step(cause, by_hand, prevented=by_hand.most_retries).step is Step.FAIL


@given(jitter=st.floats(0, 1), retries=st.integers(0, 40))
def test_the_jitter_takes_at_most_half_of_the_wait(jitter: float, retries: int) -> None:
    job = make_job()
    patient = msgspec.structs.replace(job.executor, retries=99)
    job = msgspec.structs.replace(job, executor=patient, retries=retries)
    full = min(2.0 * 2**retries, LONGEST_BACKOFF_SECONDS)
    wait = next_step(Cause.CRASHED, job, jitter=jitter).retry_at - NOW
    assert full / 2 <= wait <= full


def test_a_quota_is_waited_for_until_the_time_it_gave() -> None:
    """ "parked until the reset time it gave …; not counted"."""
    following = next_step(Cause.RATE_LIMITED, resets_at=NOW + 1000)
    assert following.step is Step.PARK
    assert NOW + 1000 <= following.retry_at <= NOW + 1010
    assert (following.retries, following.worker_deaths) == (0, 0)


@pytest.mark.parametrize(
    ("resets_at", "first"),
    [(None, 60), (NOW - 1, RESET_MARGIN_SECONDS), (0.0, RESET_MARGIN_SECONDS)],
)
def test_without_a_time_to_come_the_parking_grows(resets_at: float | None, first: float) -> None:
    """ "(or a growing wait)": a time that has passed meanwhile is believed once."""
    job = make_job()
    waits = []
    for _ in range(9):
        waits.append(next_step(Cause.RATE_LIMITED, job, resets_at=resets_at).retry_at - NOW)
        job = after(Cause.RATE_LIMITED, job)
    assert waits[:3] == [first, 120, 240]
    assert waits == sorted(waits)
    assert waits[-1] == LONGEST_PARKING_SECONDS


def test_parking_can_be_switched_off() -> None:
    """ "`retry.on_quota: false` turns it off"."""
    assert next_step(Cause.RATE_LIMITED, on_quota=False) == Next(Step.FAIL)


def test_a_session_that_may_hold_something_is_given_up_by_nobody_but_a_person() -> None:
    """ "a session that ever held a finished turn is never replaced without being asked"."""
    for ran in (False, True):
        following = next_step(Cause.SESSION_UNKNOWN, session_kept=True, ran_in_session=ran)
        assert following == Next(Step.FAIL)


def test_a_session_that_was_lost_in_an_agent_s_run_costs_nothing_more() -> None:
    """What cut that run off has been counted by its own cause, or does not count."""
    job = make_job()
    for _ in range(9):
        following = next_step(Cause.SESSION_UNKNOWN, job, ran_in_session=True)
        assert (following.step, following.retries) == (Step.RETRY, 0)
        job = after(Cause.SESSION_UNKNOWN, job, ran_in_session=True)


@pytest.mark.parametrize("cause", [Cause.SESSION_IN_USE, Cause.SESSION_UNKNOWN])
def test_a_cli_that_refuses_again_and_again_spends_retries(cause: Cause) -> None:
    """The first refusal is free; a CLI that keeps nothing must not go on for ever."""
    assert steps(cause, 4) == [Step.RETRY, Step.RETRY, Step.RETRY, Step.FAIL]


@pytest.mark.parametrize("cause", [Cause.SESSION_IN_USE, Cause.SESSION_UNKNOWN])
def test_the_session_law_spends_no_retry(cause: Cause) -> None:
    """ "session in use / unknown | the session law; not counted"."""
    assert next_step(cause).retries == 0


@pytest.mark.parametrize("most", [1, 5])
def test_deaths_that_may_be_its_fault_set_a_job_aside(most: int) -> None:
    """ "worker died | … resume; counted apart"; how many is a setting."""
    expected = [Step.RETRY] * (most - 1) + [Step.FAIL]
    assert steps(Cause.WORKER_DIED, most, most_deaths=most) == expected
    assert next_step(Cause.WORKER_DIED).retries == 0
    assert next_step(Cause.WORKER_DIED).worker_deaths == 1


def test_deaths_that_are_not_its_fault_end_no_job_and_slow_it_down() -> None:
    """After three in a row: an agent that kills everything must not spin."""
    job = make_job(worker_deaths=4)
    waits = []
    for _ in range(12):
        following = next_step(Cause.WORKER_DIED, job, excused=True)
        assert (following.step, following.worker_deaths) == (Step.RETRY, 0)
        waits.append(max(0.0, following.retry_at - NOW))
        job = after(Cause.WORKER_DIED, job, excused=True)
    assert waits == [0, 0, 0, 2, 4, 8, 16, 32, 60, 60, 60, 60]


def test_a_stopped_worker_costs_its_jobs_nothing() -> None:
    assert next_step(Cause.WORKER_STOPPED) == Next(Step.RETRY)
    assert steps(Cause.WORKER_STOPPED, 20) == [Step.RETRY] * 20


@pytest.mark.parametrize("cause", list(Cause))
def test_every_cause_leads_somewhere(cause: Cause) -> None:
    following = next_step(cause)
    assert isinstance(following.step, Step)
    assert following.retry_at == 0.0 or following.retry_at > NOW


def test_a_share_that_is_used_up_is_followed_by_another_as_long_as_there_is_one() -> None:
    assert next_step(Cause.BUDGET_REACHED).step is Step.FAIL
    job = make_job()
    for _ in range(MOST_SHARES):
        following = next_step(Cause.BUDGET_REACHED, job, share_left=True)
        assert (following.step, following.retries) == (Step.RETRY, 0)
        job = make_job(corrections=(*job.corrections, following.correction))
    assert next_step(Cause.BUDGET_REACHED, job, share_left=True).step is Step.FAIL


@pytest.mark.parametrize("count", [1_023, 1_024, 10_000, 1_000_000])
def test_no_count_is_too_large_for_the_wait_that_follows(count: int) -> None:
    """2 to the power of 1024 is no number that a time can be, and `retries` may be a million."""
    patient = msgspec.structs.replace(CLAUDE, retries=count + 1)
    retried = make_job(executor=patient, retries=count)
    assert next_step(Cause.CRASHED, retried).retry_at == NOW + LONGEST_BACKOFF_SECONDS
    mourned = make_job(excused_deaths=count)
    following = next_step(Cause.WORKER_DIED, mourned, excused=True)
    assert following.retry_at == NOW + LONGEST_DEATH_BACKOFF_SECONDS
    parked = make_job(corrections=("parked",) * count)
    assert next_step(Cause.RATE_LIMITED, parked).retry_at == NOW + LONGEST_PARKING_SECONDS
