"""Which cause leads to which next step: retries by cause, not by luck.

Owns what each rule in the table of causes (`sow.schema.cause_table`) means, and the
backoff. Pure: time and jitter come in as arguments, and nothing here knows how
an attempt is run or recorded.
"""

from dataclasses import dataclass
from enum import StrEnum

from sow.attempts.fallback import RESET_MARGIN_SECONDS, Way
from sow.schema.cause_table import CAUSES, RetryRule, SessionRule
from sow.schema.causes import Cause
from sow.schema.job import Job

FIRST_BACKOFF_SECONDS = 2.0
LONGEST_BACKOFF_SECONDS = 300.0
FIRST_PARKING_SECONDS = 60.0
LONGEST_PARKING_SECONDS = 3600.0
PATIENT_DEATHS = 3
"""How many deaths in a row that are not the job's fault are followed by another start at once."""
LONGEST_DEATH_BACKOFF_SECONDS = 60.0
LONGEST_PUT_OFF_SECONDS = 60.0
MOST_PUT_OFF = 64
"""How often in a row a batch's job is put off for what passes: for about an hour."""
MOST_DOUBLINGS = 16
"""After so many every wait is its longest; 2 to the count itself would be too large a number."""
MOST_SHARES = 20
"""How many shares of what is limited one job may use up."""


class Step(StrEnum):
    """What happens to the job."""

    DONE = "done"
    FAIL = "fail"
    CANCEL = "cancel"
    RETRY = "retry"
    PARK = "park"


@dataclass(frozen=True)
class Next:
    """The next step, when it is due, and what it spends."""

    step: Step
    retry_at: float = 0.0
    retries: int = 0
    """To add to the job's count of retries."""
    worker_deaths: int = 0
    """To add to the job's count of dead workers."""
    excused_deaths: int = 0
    """To add to the count of those that were not its fault."""
    correction: str | None = None
    """A one-time remedy that is spent by this step."""
    way: Way = Way.STAY
    """Which executor goes on."""
    place: int = 0
    """Which of the job's next ones that is."""


AT_ONCE = {
    RetryRule.DONE: Step.DONE,
    RetryRule.CANCEL: Step.CANCEL,
    RetryRule.FAIL: Step.FAIL,
}
"""The rules by which a job has ended, whatever else is so."""


def decide(
    cause: Cause,
    job: Job,
    *,
    now: float,
    jitter: float,
    most_deaths: int,
    excused: bool,
    resets_at: float | None = None,
    can_resume: bool = False,
    session_kept: bool = False,
    ran_in_session: bool = False,
    on_quota: bool = False,
    share_left: bool = False,
    prevented: int = 0,
) -> Next:
    """Return what follows an attempt of `job` that ended by `cause`.

    `jitter` is drawn from 0 to 1. `resets_at` is when a quota ends, in seconds
    since the epoch, where the CLI has told it. `session_kept`: the session may
    hold what must not be lost without a person's word; `ran_in_session`: an
    agent of this job has run in it. `excused`: a death was not the job's fault.
    `share_left`: it may have another share of what is limited. `prevented`: how many of its
    attempts in a row, before this one, have ended by a cause that is waited for
    (`RetryRule.PATIENT`).
    """
    facts = CAUSES[cause]
    is_unknown = facts.session in (SessionRule.UNKNOWN, SessionRule.ELSEWHERE)
    match facts.retry:
        case RetryRule.DONE | RetryRule.CANCEL | RetryRule.FAIL:
            return Next(AT_ONCE[facts.retry])
        case RetryRule.ONCE:
            return _once(cause, job)
        case RetryRule.ONCE_RESUMED:
            return _once(cause, job) if can_resume else Next(Step.FAIL)
        case RetryRule.HANG:  # in a batch nobody sits there who could run it anew
            return _once(cause, job) if can_resume or job.batch else Next(Step.FAIL)
        case RetryRule.BACKOFF:
            return _after_backoff(job, now, jitter)
        case RetryRule.QUOTA:
            return _parked(job, now, resets_at) if on_quota else Next(Step.FAIL)
        case RetryRule.SHARE:
            return _with_another_share(cause, job) if share_left else Next(Step.FAIL)
        case RetryRule.SESSION_LAW:
            is_lost = is_unknown and session_kept
            if is_unknown and ran_in_session and not is_lost:
                return Next(Step.RETRY, correction=cause.value)  # what cut it off was counted
            return Next(Step.FAIL) if is_lost else _free_once(cause, job, now, jitter)
        case RetryRule.FREE:
            return Next(Step.RETRY)
        case RetryRule.PATIENT:
            return _put_off(job, prevented, now, jitter)
        case RetryRule.DEATH:
            return after_death(job, most=most_deaths, excused=excused, now=now, jitter=jitter)


def doubled(first: float, times: int, *, longest: float) -> float:
    """Return a wait that begins with `first` and is doubled so often, and at most `longest`."""
    return min(first * 2.0 ** min(times, MOST_DOUBLINGS), longest)


def after_death(job: Job, *, most: int, excused: bool, now: float, jitter: float) -> Next:
    """Return what follows a death of the job's worker or supervisor.

    Deaths that may be its fault are counted in a row, up to `most`. The others
    never end it; after some in a row it waits, for its agent may be what kills.
    """
    if not excused:
        step = Step.FAIL if job.worker_deaths + 1 >= most else Step.RETRY
        return Next(step, worker_deaths=1)
    beyond = job.excused_deaths + 1 - PATIENT_DEATHS
    if beyond <= 0:
        return Next(Step.RETRY, excused_deaths=1)
    wait = doubled(FIRST_BACKOFF_SECONDS, beyond - 1, longest=LONGEST_DEATH_BACKOFF_SECONDS)
    return Next(Step.RETRY, retry_at=now + wait * (0.5 + jitter / 2), excused_deaths=1)


def _free_once(cause: Cause, job: Job, now: float, jitter: float) -> Next:
    """Go on at once the first time, and spend a retry each further time."""
    if cause.value in job.corrections:
        return _after_backoff(job, now, jitter)
    return Next(Step.RETRY, correction=cause.value)


def _with_another_share(cause: Cause, job: Job) -> Next:
    """Go on with another share, but not for ever: each turn begins with what costs by itself."""
    if job.corrections.count(cause.value) >= MOST_SHARES:
        return Next(Step.FAIL)
    return Next(Step.RETRY, correction=cause.value)


def _once(cause: Cause, job: Job) -> Next:
    """Allow one remedy of a kind for each job."""
    if cause.value in job.corrections:
        return Next(Step.FAIL)
    return Next(Step.RETRY, correction=cause.value)


def _after_backoff(job: Job, now: float, jitter: float) -> Next:
    """Double the wait with each retry; half of it is jittered."""
    if job.retries >= job.most_retries:
        return Next(Step.FAIL)
    wait = doubled(FIRST_BACKOFF_SECONDS, job.retries, longest=LONGEST_BACKOFF_SECONDS)
    return Next(Step.RETRY, retry_at=now + wait * (0.5 + jitter / 2), retries=1)


def _put_off(job: Job, prevented: int, now: float, jitter: float) -> Next:
    """Wait for what passes. It is no fault of the job, and spends none of its retries."""
    if prevented >= (job.most_retries if job.batch is None else MOST_PUT_OFF):
        return Next(Step.FAIL)
    wait = doubled(FIRST_BACKOFF_SECONDS, prevented, longest=LONGEST_PUT_OFF_SECONDS)
    return Next(Step.RETRY, retry_at=now + wait * (0.5 + jitter / 2))


def _parked(job: Job, now: float, resets_at: float | None) -> Next:
    """Wait until the quota is reset; where that is not known, ever longer."""
    if resets_at is not None and resets_at > now:
        return Next(Step.PARK, retry_at=resets_at + RESET_MARGIN_SECONDS, correction="parked")
    parkings = job.corrections.count("parked")
    if resets_at is not None and not parkings:  # the time it gave has passed meanwhile
        return Next(Step.PARK, retry_at=now + RESET_MARGIN_SECONDS, correction="parked")
    wait = doubled(FIRST_PARKING_SECONDS, parkings, longest=LONGEST_PARKING_SECONDS)
    return Next(Step.PARK, retry_at=now + wait, correction="parked")
