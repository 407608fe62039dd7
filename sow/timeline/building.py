"""The report of some facts: the read model that page, text and JSON have in common.

Pure. Owns what is told of the whole; how one task's time went is `task_stories`.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sow.clock import format_time
from sow.schema.amounts import dollars
from sow.schema.job import Attempt, Job
from sow.schema.output.report import (
    WORKING,
    Lane,
    PathStep,
    Report,
    Run,
    SpanKind,
    TaskStory,
    Totals,
)
from sow.timeline.critical_path import critical_path
from sow.timeline.report_facts import Facts
from sow.timeline.task_stories import beginning, outcome_of, retries_of, stories_of, used_or_none
from sow.timeline.words import UNKNOWN

OF_OTHERS: frozenset[str] = frozenset({SpanKind.SLOT, SpanKind.WORKER, SpanKind.DEPENDENCY})
"""What a task waits for because other tasks have to be done too."""


def longest_chain(tasks: Sequence[TaskStory]) -> float:
    """Return its length in seconds; of tasks that wait for each other, each counts once."""
    by_id = {task.task: task for task in tasks}
    own = {task.task: _own_time(task) for task in tasks}
    until: dict[str, float] = {}
    for name in by_id:
        _follow(name, by_id, own, until)
    return max(until.values(), default=0.0)


def _own_time(task: TaskStory) -> float:
    return sum(span.end - span.begin for span in task.spans if span.kind not in OF_OTHERS)


def _follow(
    name: str,
    tasks: Mapping[str, TaskStory],
    own: Mapping[str, float],
    until: dict[str, float],
) -> None:
    """Find when a task would have ended, and all that it depends on. A chain may be long."""
    under_way: set[str] = set()
    stack = [name]
    while stack:
        at = stack[-1]
        needed = [other for other in tasks[at].depends_on if other in tasks]
        missing = [other for other in needed if other not in until and other not in under_way]
        if at not in until and missing:
            under_way.add(at)
            stack += missing
            continue
        if at not in until:
            until[at] = own[at] + max((until.get(other, 0.0) for other in needed), default=0.0)
        stack.pop()


class Bar(NamedTuple):
    """A run: which one, whose, from when until when."""

    key: tuple[int, int]
    worker: str
    begin: float
    end: float


def lanes_of(bars: Iterable[Bar]) -> tuple[Mapping[tuple[int, int], int], Sequence[Sequence[str]]]:
    """Return each run's lane, counted from 0, and each lane's workers.

    No two runs on a lane overlap, and each worker uses as few lanes as it ran at once.
    """
    by_worker: dict[str, list[Bar]] = defaultdict(list)
    for bar in sorted(bars, key=lambda each: (each.begin, each.end, each.key)):
        by_worker[bar.worker].append(bar)
    slots = {worker: _slots(own) for worker, own in by_worker.items()}
    free_from: list[float] = []
    workers: list[list[str]] = []
    placed: dict[tuple[int, int], int] = {}
    for worker, own in by_worker.items():  # in the order of their first runs
        begin, end = own[0].begin, max(bar.end for bar in own)
        count = max(slots[worker].values()) + 1
        chosen = [lane for lane, free in enumerate(free_from) if free <= begin][:count]
        while len(chosen) < count:
            chosen.append(len(free_from))
            free_from.append(begin)
            workers.append([])
        for lane in chosen:
            free_from[lane] = end
            workers[lane].append(worker)
        placed.update((key, chosen[slot]) for key, slot in slots[worker].items())
    return placed, workers


def _slots(bars: Sequence[Bar]) -> Mapping[tuple[int, int], int]:
    """Return the slot of each of one worker's runs, the lowest that is free when it begins."""
    free_from: list[float] = []
    placed: dict[tuple[int, int], int] = {}
    for bar in bars:
        slot = next((slot for slot, free in enumerate(free_from) if free <= bar.begin), None)
        if slot is None:
            slot = len(free_from)
            free_from.append(bar.end)
        free_from[slot] = max(bar.end, bar.begin)
        placed[bar.key] = slot
    return placed


def report_of(facts: Facts) -> Report:
    """Return what is to be told of a batch or a project."""
    zero = float(int(beginning(facts)))
    runs, lanes = _runs(facts, zero)
    tasks = stories_of(facts, zero)
    path = critical_path(tasks)
    is_live = any(not job.state.is_final for job in facts.records.jobs)
    last = max([0.0, *(task.end for task in tasks), *(run.end for run in runs)])
    return Report(
        project=facts.project_id,
        name=facts.project_name,
        batch=facts.batch.id if facts.batch is not None else None,
        batch_name=facts.batch.name if facts.batch is not None else "",
        made_at=format_time(facts.now),
        began_at=format_time(zero),
        ended_at=None if is_live or not facts.records.jobs else format_time(zero + last),
        totals=_totals(facts, tasks, runs, lanes, _lengths(path), last),
        critical_path=path,
        lanes=lanes,
        runs=runs,
        tasks=tasks,
        notes=_notes(facts),
    )


def _runs(facts: Facts, zero: float) -> tuple[tuple[Run, ...], tuple[Lane, ...]]:
    """Return every attempt on its lane."""
    bars = [
        Bar((job.id, attempt.number), attempt.worker_id, *_when(attempt, facts.now))
        for job, attempt in _attempts(facts)
    ]
    placed, workers = lanes_of(bars)
    times = {bar.key: (bar.begin, bar.end) for bar in bars}
    runs = [
        _run(facts, job, attempt, placed[key], times[key], zero)
        for job, attempt in _attempts(facts)
        if (key := (int(job.id), attempt.number)) in placed
    ]
    busy: defaultdict[int, float] = defaultdict(float)
    for run in runs:
        busy[run.lane] += run.end - run.begin
    lanes = tuple(
        Lane(workers=tuple(names), busy_seconds=round(busy[lane], 3))
        for lane, names in enumerate(workers)
    )
    return tuple(sorted(runs, key=lambda run: (run.begin, run.job, run.attempt))), lanes


def _attempts(facts: Facts) -> Iterable[tuple[Job, Attempt]]:
    for job in facts.records.jobs:
        for attempt in facts.records.attempts.get(job.id, ()):
            yield job, attempt


def _when(attempt: Attempt, now: float) -> tuple[float, float]:
    begin = attempt.started_at or attempt.created_at
    end = attempt.ended_at if attempt.ended_at is not None else now
    return begin, max(begin, end)


def _run(
    facts: Facts, job: Job, attempt: Attempt, lane: int, when: tuple[float, float], zero: float
) -> Run:
    return Run(
        task=job.task_id or None,
        job=job.id,
        attempt=attempt.number,
        verb=attempt.verb,
        agent=job.agent or None,
        executor=job.executor_name or None,
        worker=attempt.worker_id,
        host=facts.host_of(attempt),
        lane=lane,
        begin=round(when[0] - zero, 3),
        end=round(when[1] - zero, 3),
        outcome=outcome_of(job, attempt),
        cause=attempt.cause,
        reason=attempt.reason,
        cost_usd=dollars(facts.records.costs.get((int(job.id), attempt.number))),
    )


def _totals(
    facts: Facts,
    tasks: Sequence[TaskStory],
    runs: Sequence[Run],
    lanes: Sequence[Lane],
    path: dict[str, float],
    last: float,
) -> Totals:
    waited: defaultdict[str, float] = defaultdict(float)
    for task in tasks:
        for kind, seconds in task.seconds_in.items():
            if kind not in WORKING:
                waited[kind] += seconds
    retries: Counter[str] = Counter()
    denied: Counter[str] = Counter()
    for job in facts.records.jobs:
        retries.update(retries_of(facts.records.attempts.get(job.id, ())))
        denied.update(set(job.denied_tools))
    return Totals(
        task_count=sum(1 for task in tasks if task.task),
        by_status=dict(Counter(task.status or UNKNOWN for task in tasks if task.task)),
        job_count=len(facts.records.jobs),
        attempt_count=len(runs),
        failed_attempts=sum(run.outcome == "failed" for run in runs),
        retries_by_cause=dict(retries.most_common()),
        attempts_by_host=dict(Counter(run.host for run in runs if run.host).most_common()),
        lane_count=len(lanes),
        seconds=round(last, 3),
        working_seconds=round(sum(run.end - run.begin for run in runs), 3),
        waited_seconds=_rounded(waited),
        path_seconds=path,
        unlimited_seconds=round(longest_chain(tasks), 3),
        used=used_or_none(facts.records.total),
        denials_by_tool=dict(denied.most_common()),
    )


def _lengths(path: Sequence[PathStep]) -> dict[str, float]:
    """Return how long the critical path is, by the kind of its stretches, the longest first."""
    found: defaultdict[str, float] = defaultdict(float)
    for step in path:
        found[step.kind] += step.end - step.begin
    return _rounded(found)


def _rounded(seconds: Mapping[str, float]) -> dict[str, float]:
    longest_first = sorted(seconds.items(), key=lambda item: -item[1])
    return {name: round(length, 3) for name, length in longest_first}


def _notes(facts: Facts) -> tuple[str, ...]:
    notes = list(facts.notes)
    if facts.records.left_out:
        notes.append(
            f"{facts.records.left_out} older jobs are on record besides; these are the newest."
        )
    return tuple(notes)
