"""How a task's time went: its jobs' states and attempts, turned into spans without gap or overlap.

Pure. Times are seconds since the epoch. Where the record of changes was pruned, the times in the
job's own record tell the rest. A batch that wants a person for an item begins nothing of it
meanwhile: that is no wait for a slot.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from sow.schema.batch import BatchState, ItemState
from sow.schema.causes import ON_LIMIT
from sow.schema.change import Change, ChangeKind
from sow.schema.job import Attempt, HeldFor, Job, JobState
from sow.schema.kinds import KINDS
from sow.schema.output.report import Span, SpanKind

SHORTEST = 0.001
"""What is shorter is no span: nobody could see it."""
STARTS = "sow places it and starts it"


class Turn(NamedTuple):
    """A job's state from a moment on."""

    at: float
    state: str
    reason: str = ""
    cause: str | None = None


class Stay(NamedTuple):
    """A job, or what lies between two jobs, for so long."""

    begin: float
    end: float
    kind: SpanKind
    why: str
    job: int | None = None
    attempt: int | None = None


def turns_of(job: Job, changes: Iterable[Change]) -> list[Turn]:
    """Return a job's states in their order: as they were recorded, else as its record has them."""
    turns: list[Turn] = []
    for change in changes:
        if change.kind == ChangeKind.STATUS:
            continue
        state = "preparing" if change.kind == ChangeKind.PLACED else change.kind
        at = max(change.at, turns[-1].at) if turns else change.at
        turns.append(Turn(at, state, change.data.reason or "", change.data.cause))
    if not turns or turns[0].state != "preparing":  # what came before was pruned
        turns = [*_from_record(job, turns[0].at if turns else None), *turns]
    if job.ended_at is not None and not JobState(turns[-1].state).is_final:
        turns.append(Turn(max(job.ended_at, turns[-1].at), job.state, job.reason, job.cause))
    return turns


def _from_record(job: Job, until: float | None) -> Iterator[Turn]:
    """Yield the states that a job's own times tell, before a moment."""
    at = job.created_at
    known = (
        ("preparing", job.created_at),
        ("queued", job.queued_at),
        ("running", job.started_at),
    )
    for state, moment in known:
        if moment is not None and (until is None or moment <= until or state == "preparing"):
            at = max(at, moment)
            yield Turn(at if until is None else min(at, until), state)


def job_stays(
    job: Job, turns: Sequence[Turn], attempts: Sequence[Attempt], *, now: float
) -> list[Stay]:
    """Return how a job's time went until it ended, or until now."""
    stays: list[Stay] = []
    for turn, following in zip(turns, [*turns[1:], None], strict=True):
        if JobState(turn.state).is_final:
            continue
        end = following.at if following is not None else max(now, turn.at)
        if turn.state == JobState.RUNNING:
            stays += _running(job, attempts, turn.at, end)
        else:
            kind, why = _waits(job, turn, attempts)
            stays.append(Stay(turn.at, end, kind, why, job.id))
    return stays


def _running(job: Job, attempts: Sequence[Attempt], begin: float, end: float) -> Iterator[Stay]:
    """Yield the attempts within a stretch in which a worker had the job, and what lies between."""
    at = begin
    if not KINDS[job.verb].is_leased:
        yield Stay(begin, end, SpanKind.OPEN, "open on a terminal", job.id)
        return
    before: Attempt | None = None
    for attempt in attempts:
        first = max(attempt.started_at or attempt.created_at, at)
        last = min(attempt.ended_at if attempt.ended_at is not None else end, end)
        if last <= first:
            continue
        if first > at:
            yield Stay(at, first, *_between(before), job.id)
        kind = SpanKind(KINDS[job.verb].span)
        yield Stay(first, last, kind, _work_words(job, attempt), job.id, attempt.number)
        at, before = last, attempt
    if end > at:
        yield Stay(at, end, *_between(before), job.id)


def _between(before: Attempt | None) -> tuple[SpanKind, str]:
    """Return what a worker does with a job while no attempt of it runs."""
    if before is None:
        return SpanKind.PLACING, "sow starts it"
    return SpanKind.PLACING, "sow ends the attempt and writes its outcome"


def _work_words(job: Job, attempt: Attempt) -> str:
    span = SpanKind(KINDS[job.verb].span)
    verb = attempt.verb if span is SpanKind.WORK else job.verb
    return f"{verb} by {job.agent}" if job.agent else str(verb)


def _waits(job: Job, turn: Turn, attempts: Sequence[Attempt]) -> tuple[SpanKind, str]:
    """Return what a job waits for in a state in which it does not run."""
    reason = turn.reason.strip().partition("\n")[0]
    match turn.state:
        case JobState.PREPARING:
            return SpanKind.PLACING, "its call places it"
        case JobState.HELD:
            if "sow trust" in reason or job.held_for is HeldFor.TRUST:
                return SpanKind.PERSON, "a person's trust in a command line"
            return SpanKind.DEPENDENCY, reason or "the tasks that it depends on"
        case JobState.PARKED:
            return SpanKind.LIMIT, reason or "a usage limit"
        case JobState.BACKOFF if ON_LIMIT in reason:
            return SpanKind.LIMIT, reason
        case JobState.BACKOFF:
            cause = turn.cause or _last_cause(attempts, turn.at)
            return SpanKind.RETRY, reason or f"another try after {cause or 'a fault'}"
        case _:
            return SpanKind.SLOT, "a free slot"


def _last_cause(attempts: Sequence[Attempt], at: float) -> str | None:
    ended = [each for each in attempts if each.ended_at is not None and each.ended_at <= at + 1]
    return ended[-1].cause if ended else None


Wait = tuple[SpanKind, str]
"""What is waited for, and the same in words."""


def spans_of(
    stays: Iterable[Stay],
    between: Callable[[int | None, float, float], Iterable[Stay]],
    *,
    begin: float,
    end: float,
) -> tuple[Stay, ...]:
    """Return a task's time from `begin` to `end`, without gap or overlap, in order.

    `between` fills the time after a job, from one moment to another; after None, that before the
    first job.
    """
    found: list[Stay] = []
    at, last_job = begin, None
    for stay in sorted(stays, key=lambda each: (each.begin, each.end)):
        first, last = max(stay.begin, at), min(stay.end, end)
        if last - first < SHORTEST:
            continue
        if first - at >= SHORTEST:
            found += between(last_job, at, first)
        else:
            first = at
        _add(found, stay._replace(begin=first, end=last))
        at, last_job = last, stay.job
    if end - at >= SHORTEST:
        found += between(last_job, at, end)
    return tuple(found)


def _add(found: list[Stay], stay: Stay) -> None:
    """Add a stay; of one job, what sow does step by step is one."""
    before = found[-1] if found else None
    if (
        before is not None
        and before.kind is stay.kind is SpanKind.PLACING
        and before.job == stay.job
    ):
        found[-1] = before._replace(end=stay.end, why=STARTS)
    else:
        found.append(stay)


def as_span(stay: Stay, zero: float) -> Span:
    """Return a stay as it is told: its moments count from `zero`."""
    return Span(
        begin=round(stay.begin - zero, 3),
        end=round(stay.end - zero, 3),
        kind=stay.kind,
        why=stay.why,
        job=stay.job,
        attempt=stay.attempt,
    )


RESUMED = "a person to resume the batch"


class PersonWait(NamedTuple):
    """A stretch in which a person had to act, and what for."""

    begin: float
    end: float
    why: str


def item_waits(changes: Iterable[Change]) -> Iterator[PersonWait]:
    """Yield when an item wanted a person, from its changes in their order."""
    for change, end in _with_ends(changes):
        if change.data.status == ItemState.NEEDS_PERSON:
            reason = (change.data.reason or "").strip().partition("\n")[0]
            yield PersonWait(change.at, end, f"a person: {reason}" if reason else "a person")


def batch_waits(changes: Iterable[Change]) -> Iterator[PersonWait]:
    """Yield when a batch was paused, from its changes in their order."""
    for change, end in _with_ends(changes):
        if change.data.status == BatchState.PAUSED:
            yield PersonWait(change.at, end, RESUMED)


def _with_ends(changes: Iterable[Change]) -> Iterator[tuple[Change, float]]:
    """Yield each change and when the next one ended what it began."""
    found = list(changes)
    ends = [*(change.at for change in found[1:]), float("inf")]
    return zip(found, ends, strict=False)


def split_wait(
    begin: float, end: float, otherwise: Wait, waits: Sequence[PersonWait]
) -> Iterator[Stay]:
    """Yield a stretch without a job: for a person where one had to act, else for `otherwise`."""
    at = begin
    for wait in sorted(waits):
        first, last = max(wait.begin, at), min(wait.end, end)
        if last - first < SHORTEST:
            continue
        if first - at >= SHORTEST:
            yield Stay(at, first, *otherwise)
        else:
            first = at
        yield Stay(first, last, SpanKind.PERSON, wait.why)
        at = last
    if end - at >= SHORTEST:
        yield Stay(at, end, *otherwise)
