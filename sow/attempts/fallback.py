"""Who takes the place of an executor that cannot begin a task, or cannot go on with it: a table.

A role may be bound to several executors. Owns which obstacles lead to the next one, when a job is
placed, when it starts and when an attempt of it has ended; what that changes in the job's record;
and its words. Pure: what stands in whose way comes in as arguments.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from msgspec.structs import replace

from sow.executors.base import Verdict
from sow.schema.cause_table import WITHOUT_AGENT
from sow.schema.causes import Cause
from sow.schema.job import Attempt, Job
from sow.schema.job_terms import LeftExecutor, NextExecutor, with_fallback
from sow.schema.kinds import SessionUse, kind_of

OBSTACLES: Mapping[Cause, str] = {
    Cause.MISSING_BINARY: "is not installed",
    Cause.AUTH: "is not logged in, or its key was refused",
    Cause.RATE_LIMITED: "has reached a usage limit",
    Cause.CONFIGURATION: "is no longer configured as it was",
}
"""The causes that lie with an executor and not with the task, each in words behind its name."""


MOST_MOVES = 20
"""How often a job changes its executor; after that it waits with the one that it has."""
RESET_MARGIN_SECONDS = 5.0


class Way(StrEnum):
    """Which executor a job goes on with."""

    STAY = "stay"
    """Its own: it waits or fails as it would without others."""
    NEXT = "next"
    """The next one, which begins the task: nothing of it has begun."""
    HAND_OVER = "hand_over"
    """The next one, in a new session that begins with a hand-over."""


class Target(NamedTuple):
    """Which of the next executors goes on, and from when on."""

    place: int = 0
    until: float | None = None
    """When its usage limit ends, where it is known to have met one; it is waited for."""


def target_of(limits: Sequence[float | None], own: float | None) -> Target | None:
    """Return which of the next executors goes on, by when the known limit of each ends.

    The first that has met none. Where each has met one, the one whose limit ends first; `own` is
    when that of the present one ends, where it has met one and that is known. None: the present one
    is the first that can go on.
    """
    place, until = min(enumerate(limits), key=lambda each: each[1] or 0.0)
    if own is not None and until is not None and own <= until:
        return None
    return Target(place, until)


def way_on(cause: Cause, *, has_next: bool, has_begun: bool, hands_over: bool) -> Way:
    """Return who goes on with a job that `cause` keeps from going on.

    `has_next`: its role has an executor that it was not tried with. `has_begun`: a session holds
    work of its agent. `hands_over`: the user wants such a session handed over.
    """
    if cause not in OBSTACLES or not has_next:
        return Way.STAY
    if not has_begun:
        return Way.NEXT
    return Way.HAND_OVER if hands_over else Way.STAY


def way_of(job: Job, cause: Cause, history: Sequence[Attempt], *, works_now: bool = False) -> Way:
    """Return the same for a job with these attempts.

    `works_now`: its last attempt, whose end is not on record yet, has done something.
    """
    others = job.fallback
    return way_on(
        cause,
        has_next=bool(others.next) and len(others.left) < MOST_MOVES,
        has_begun=works_now or has_begun(job, history),
        hands_over=others.hands_over,
    )


def has_begun(job: Job, history: Sequence[Attempt]) -> bool:
    """Whether the session that a job's agent works in holds anything of it.

    A session with nothing but an error in it, as of a usage limit, holds nothing.
    """
    if kind_of(job).session is SessionUse.CONTINUES and not job.fallback.left:
        return True
    return any(attempt.tool_uses or attempt.finished_turn for attempt in since_left(job, history))


def since_left(job: Job, history: Sequence[Attempt]) -> Sequence[Attempt]:
    """Return the attempts of the job's present executor."""
    left = job.fallback.left
    if not left:
        return history
    return [attempt for attempt in history if attempt.number > left[-1].attempt]


def is_untold(job: Job, history: Sequence[Attempt]) -> bool:
    """Whether an executor that was left may have worked: its output tells of no tools."""
    left = job.fallback.left
    return any(
        attempt.tool_uses is None and attempt.cause not in WITHOUT_AGENT
        for attempt in history
        if left and attempt.number <= left[-1].attempt
    )


def is_handed_over(job: Job) -> bool:
    """Whether the present executor goes on with work that another one has begun."""
    return any(each.hands_over for each in job.fallback.left)


def first_free(obstacles: Sequence[Cause | None]) -> int | None:
    """Return which executor a job is placed for, by what stands in the way of each.

    The first without an obstacle; else the first that only waits for its limit. None: there is
    none.
    """
    for wanted in (None, Cause.RATE_LIMITED):
        if wanted in obstacles:
            return obstacles.index(wanted)
    return None


def moved(
    job: Job,
    way: Way,
    verdict: Verdict,
    *,
    attempt: int,
    session: str | None = None,
    place: int = 0,
) -> dict[str, Any]:
    """Return what changes in the record of a job that goes on with one of its next executors.

    `attempt` is the number of its last one, 0 where it has none; `session` the one that is handed
    over. What was spent of retries was the other program's. An executor whose limit ends at a known
    time may be the job's again.
    """
    following = job.fallback.next[place]
    rest = [each for each in job.fallback.next if each is not following]
    if verdict.cause is Cause.RATE_LIMITED and verdict.resets_at is not None:
        rest.append(NextExecutor(executor=job.agents_executor, limits=job.executors_limits))
    left = LeftExecutor(
        name=job.executor_name,
        cause=verdict.cause,
        reason=first_line(verdict.reason),
        attempt=attempt,
        until=verdict.resets_at,
        session=session if way is Way.HAND_OVER else None,
        hands_over=way is Way.HAND_OVER,
    )
    everyone = (*job.fallback.left, left)
    fallback = replace(job.fallback, next=tuple(rest), left=everyone, leaving=None)
    return {
        "executor": following.executor,
        "executor_name": following.executor.name,
        "max_parallel": following.executor.max_parallel,
        "terms": with_fallback(job.terms, fallback),
        **job.limits_by(following),
        "retries": 0,
        "corrections": (),
        "warnings": (*job.warnings, took_place(left, following.executor.name)),
    }


def after_left(job: Job, reason: str) -> str:
    """Return why a job ends or waits, its executor and those before it named in the first line."""
    left = job.fallback.left
    if not left:
        return reason
    first, *rest = reason.splitlines() or [""]
    before = ", ".join(dict.fromkeys(obstacle_words(each) for each in left))
    return "\n".join([f"{job.executor_name}: {first} (before it: {before})", *rest])


def took_place(left: LeftExecutor, name: str) -> str:
    """Return the warning that another executor took the place of one."""
    words = obstacle_words(left)
    why = f" ({left.reason})" if left.reason else ""
    tried = f" in attempt {left.attempt}" if left.attempt else ""
    if left.hands_over:
        return f"{words}{tried}{why}: {name} continues its work in a new session"
    return f"{words}{tried}{why}: {name} took its place"


def obstacle_words(left: LeftExecutor) -> str:
    """Return what stood in an executor's way, with its name."""
    return f"{left.name} {OBSTACLES.get(left.cause, left.cause)}"


def first_line(text: str) -> str:
    """Return the first line of a text; empty for an empty one."""
    return text.strip().splitlines()[0] if text.strip() else ""
