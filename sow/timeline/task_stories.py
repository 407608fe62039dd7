"""Each task's story: how its time went, what it cost, what went wrong, what it waits for.

Pure. Owns where a task's time begins and ends: at its first job, or with its batch; at its last
job's end, or when somebody completed it.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from sow.ids import JobId
from sow.reports.costs import cost_sum
from sow.schema.causes import Cause
from sow.schema.change import Change, ChangeKind
from sow.schema.job import Attempt, Job
from sow.schema.kinds import was_cut_off
from sow.schema.output.costs import CostSum
from sow.schema.output.report import SpanKind, TaskStory
from sow.schema.spending import Used
from sow.schema.task import Task, TaskStatus
from sow.terminal_text import printable
from sow.timeline.report_facts import Facts, Log
from sow.timeline.spans import (
    PersonWait,
    Stay,
    Wait,
    as_span,
    batch_waits,
    item_waits,
    job_stays,
    spans_of,
    split_wait,
    turns_of,
)

WELL = frozenset({Cause.REPORTED, Cause.PASSED})
ASKED_FOR = frozenset({Cause.CANCELLED, Cause.WORKER_STOPPED, Cause.CLOSED})
"""Somebody has ended it; nothing went wrong."""
RUNNING, GOOD, ENDED, FAILED = "running", "well", "ended", "failed"
NO_WAIT = 0.5
"""In seconds."""
MOST_FAULTS = 12
LONGEST_FAULT = 300
WAITS_FOR = {
    TaskStatus.PAUSED: "an answer to its question",
    TaskStatus.NEEDS_REVIEW: "a verdict on its work",
    TaskStatus.FAILED: "somebody to go on with it",
    TaskStatus.IN_PROGRESS: "somebody to go on with it",
    TaskStatus.PENDING: "somebody to start it",
}
"""What a task without a job waits for, by its status."""
CUT_OFF = "somebody to go on with it"
"""What one waits for whose job was cancelled: its agent has asked nothing."""
STOPPED = frozenset({TaskStatus.PAUSED, TaskStatus.FAILED})
"""After these a batch goes on only when a person has acted."""
ITS_TURN = (SpanKind.SLOT, "its turn in the batch")
TERMINAL = frozenset({TaskStatus.COMPLETED, TaskStatus.ABANDONED})


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


class _Known:
    """What several stories need, looked up once."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.tasks = {task.id: task for task in facts.tasks}
        self.jobs: dict[str, list[Job]] = defaultdict(list)
        for job in facts.records.jobs:
            for task in job.tasks or ("",):
                self.jobs[task].append(job)
        own: dict[JobId, list[Change]] = defaultdict(list)
        self.statuses: dict[str, list[Change]] = defaultdict(list)
        items: dict[str, list[Change]] = defaultdict(list)
        paused: dict[int | None, list[Change]] = defaultdict(list)
        first_of = {job.id: job.task_id for job in facts.records.jobs}
        for change in facts.records.changes:
            if change.kind == ChangeKind.STATUS:
                self.statuses[change.task].append(change)
            elif change.kind == ChangeKind.ITEM:
                items[change.task].append(change)
            elif change.kind == ChangeKind.BATCH:
                paused[change.batch].append(change)
            elif change.job is not None and first_of.get(change.job) == change.task:
                own[change.job].append(change)
        self.turns = {job.id: turns_of(job, own[job.id]) for job in facts.records.jobs}
        self.of_items = {task: list(item_waits(own)) for task, own in items.items()}
        self.of_batches = {number: list(batch_waits(own)) for number, own in paused.items()}
        self.is_live = any(not job.state.is_final for job in facts.records.jobs)
        self.busy = _busy(facts)

    def ended_at(self, task: str) -> float | None:
        """Return when somebody last completed or abandoned a task."""
        found = [
            change.at
            for change in self.statuses[task]
            if change.data.status in TERMINAL and change.data.before != change.data.status
        ]
        return found[-1] if found else None

    def person_waits(self, task: str, batch: int | None) -> Sequence[PersonWait]:
        """Return when a task of a batch waited for a person."""
        if batch is None:
            return ()
        return [*self.of_items.get(task, ()), *self.of_batches.get(batch, ())]

    def status_at(self, task: str, at: float) -> TaskStatus | None:
        """Return how a task stood at a moment, as far as that is on record."""
        found = [change for change in self.statuses[task] if change.at <= at + 1]
        return TaskStatus(found[-1].data.status) if found and found[-1].data.status else None


def beginning(facts: Facts) -> float:
    """Return the first moment of all, in seconds since the epoch."""
    moments = [job.created_at for job in facts.records.jobs]
    moments += [change.at for change in facts.records.changes if change.kind == ChangeKind.PLACED]
    used = {job.batch for job in facts.records.jobs}
    moments += [at for number, at in facts.batches.items() if number in used]
    return max(min(moments, default=facts.now), 0.0)


def stories_of(facts: Facts, zero: float) -> tuple[TaskStory, ...]:
    """Return every task's story, in the order of their ids; moments count from `zero`."""
    known = _Known(facts)
    ids = {*facts.items, *known.jobs}
    if facts.batch is None:
        ids |= set(known.tasks)
    return tuple(
        _story(known, task, zero) for task in sorted(ids, key=lambda each: (len(each), each))
    )


def _story(known: _Known, task_id: str, zero: float) -> TaskStory:
    facts, task = known.facts, known.tasks.get(task_id)
    jobs = known.jobs.get(task_id, [])
    attempts = [each for job in jobs for each in facts.records.attempts.get(job.id, ())]
    spans = tuple(as_span(stay, zero) for stay in _time_of(known, task_id, jobs))
    seconds: dict[str, float] = {}
    for span in spans:
        seconds[span.kind] = round(seconds.get(span.kind, 0.0) + span.end - span.begin, 3)
    retries: Counter[str] = Counter()
    for job in jobs:
        retries.update(retries_of(facts.records.attempts.get(job.id, ())))
    log = facts.logs.get(task_id, Log())
    return TaskStory(
        task=task_id,
        name=task.name if task is not None else "",
        phase=task.phase if task is not None else (jobs[-1].phase if jobs else ""),
        status=task.status if task is not None else None,
        agent=task.assigned_agent
        if task is not None
        else (jobs[0].agent or None if jobs else None),
        iteration=task.iteration if task is not None else None,
        depends_on=tuple(task.depends_on) if task is not None else (),
        waiting_for=_waits_now(task, jobs),
        job_count=len(jobs),
        attempt_count=len(attempts),
        hosts=tuple(dict.fromkeys(host for each in attempts if (host := facts.host_of(each)))),
        retries_by_cause=dict(retries.most_common()),
        begin=spans[0].begin if spans else 0.0,
        end=spans[-1].end if spans else 0.0,
        spans=spans,
        seconds_in=seconds,
        used=used_or_none(facts.records.used.get(task_id)),
        denied_tools=tuple(sorted({tool for job in jobs for tool in job.denied_tools})),
        faults=tuple(_faults(facts, jobs)),
        diff_stat=facts.stats.get(task_id),
        log=log.entries,
        log_left_out=log.left_out,
    )


def _time_of(known: _Known, task_id: str, jobs: Sequence[Job]) -> Sequence[Stay]:
    """Return a task's time, without gap or overlap."""
    facts = known.facts
    stays = [
        _with_reason(stay, known.busy)
        for job in jobs
        for stay in job_stays(
            job, known.turns[job.id], facts.records.attempts.get(job.id, ()), now=facts.now
        )
    ]
    if not stays:
        return ()
    begin = min(stay.begin for stay in stays)
    end = max(stay.end for stay in stays)
    made_at = facts.batches.get(jobs[0].batch, begin) if jobs[0].batch is not None else begin
    if made_at < begin:
        stays = [*_before_first(known, task_id, made_at, begin, jobs[0].batch), *stays]
        begin = made_at
    completed = known.ended_at(task_id)
    task = known.tasks.get(task_id)
    if completed is not None and task is not None and task.status in TERMINAL:
        end = max(end, min(completed, facts.now))
    elif known.is_live and task is not None and task.status not in TERMINAL:
        end = max(end, facts.now)
    return spans_of(stays, _between(known, task_id, jobs), begin=begin, end=end)


def _before_first(
    known: _Known, task_id: str, begin: float, end: float, batch: int | None
) -> Iterable[Stay]:
    """Yield what a task of a batch waited for until its first job was placed."""
    task = known.tasks.get(task_id)
    met = [
        at
        for other in (task.depends_on if task is not None else ())
        if (at := known.ended_at(other)) is not None
    ]
    ready = min(max([begin, *met]), end)
    if ready > begin:
        yield Stay(begin, ready, SpanKind.DEPENDENCY, "the tasks that it depends on")
    waits = known.person_waits(task_id, batch)
    yield from _reasoned(known, split_wait(ready, end, ITS_TURN, waits))


def _between(
    known: _Known, task_id: str, jobs: Sequence[Job]
) -> Callable[[int | None, float, float], Iterable[Stay]]:
    """Return what says for what a task waited after a job of it."""
    following = dict(zip((job.id for job in jobs), [*jobs[1:], None], strict=True))
    by_id = {job.id: job for job in jobs}

    def wait(job_id: int | None, begin: float, end: float) -> Iterable[Stay]:
        job = by_id.get(JobId(job_id)) if job_id is not None else None
        after = following[job.id] if job is not None else jobs[0]
        batch = after.batch if after is not None else job.batch if job is not None else None
        otherwise = _wait_after(known, task_id, job, after)
        waits = known.person_waits(task_id, batch)
        return _reasoned(known, split_wait(begin, end, otherwise, waits))

    return wait


def _wait_after(known: _Known, task_id: str, job: Job | None, after: Job | None) -> Wait:
    """Return what a task waited for between two jobs where its batch has wanted no person."""
    if job is None:
        return SpanKind.PERSON, "somebody to start it"
    status = job.outcome_status or known.status_at(task_id, job.ended_at or known.facts.now)
    is_batches = after is not None and after.batch_step is not None
    if is_batches and status not in STOPPED:
        return ITS_TURN
    if status in TERMINAL:
        return SpanKind.PERSON, "nothing: it was ended, and then taken up again"
    if status is TaskStatus.PAUSED and was_cut_off(job):
        return SpanKind.PERSON, CUT_OFF
    words = WAITS_FOR.get(status) if status is not None else None
    return SpanKind.PERSON, words or "somebody to go on with it"


def _reasoned(known: _Known, stays: Iterable[Stay]) -> list[Stay]:
    return [_with_reason(stay, known.busy) for stay in stays]


def _with_reason(stay: Stay, busy: Sequence[tuple[float, float]]) -> Stay:
    """Return a wait for a slot as one for a worker, where nothing else ran meanwhile.

    A moment in the queue is no wait: a worker has to look first.
    """
    if stay.kind is not SpanKind.SLOT:
        return stay
    if stay.end - stay.begin < NO_WAIT:
        return stay._replace(kind=SpanKind.PLACING, why="a worker takes it")
    if _overlaps(busy, stay.begin, stay.end):
        return stay
    return stay._replace(kind=SpanKind.WORKER, why="a worker to take it")


def _busy(facts: Facts) -> list[tuple[float, float]]:
    """Return the stretches in which any attempt ran, in order, apart from each other."""
    runs = sorted(
        (each.started_at or each.created_at, each.ended_at or facts.now)
        for several in facts.records.attempts.values()
        for each in several
    )
    merged: list[tuple[float, float]] = []
    for begin, end in runs:
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, max(begin, end)))
    return merged


def _overlaps(busy: Sequence[tuple[float, float]], begin: float, end: float) -> bool:
    """Whether anything ran for a moment within a stretch."""
    place = bisect_right(busy, begin, key=lambda run: run[1])
    return place < len(busy) and busy[place][0] < end


def _waits_now(task: Task | None, jobs: Sequence[Job]) -> str:
    live = [job for job in jobs if not job.state.is_final]
    if live:
        return "" if live[-1].state == "running" else (live[-1].reason or live[-1].state.value)
    if task is None or task.status in TERMINAL:
        return ""
    is_cut_off = bool(jobs) and task.status is TaskStatus.PAUSED and was_cut_off(jobs[-1])
    return CUT_OFF if is_cut_off else WAITS_FOR.get(task.status, "")


def _faults(facts: Facts, jobs: Sequence[Job]) -> list[str]:
    """Return why attempts went wrong, the last few of them."""
    found = []
    for job in jobs:
        for attempt in facts.records.attempts.get(job.id, ()):
            if outcome_of(job, attempt) == FAILED:
                reason = printable(attempt.reason.strip().partition("\n")[0])[:LONGEST_FAULT]
                words = f"job {job.id}, attempt {attempt.number}: {attempt.cause or 'unknown'}"
                found.append(f"{words}: {reason}" if reason else words)
    return found[-MOST_FAULTS:]
