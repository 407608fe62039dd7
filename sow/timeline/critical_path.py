"""The critical path: what the end of all was waiting for, from the end back to the beginning.

Pure. It goes back through the time of the task that ended last. Where that waited for another
task, or for a slot that another held, it goes on in that one's time. Had a stretch of it
been shorter, all might have ended earlier; what is not on it has cost no time.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from sow.schema.output.report import WORKING, PathStep, Span, SpanKind, TaskStory

CLOSE = 5.0
"""A slot that became free at most so many seconds before was the one that was waited for."""
TO_START = "somebody to start it"


def critical_path(tasks: Sequence[TaskStory]) -> tuple[PathStep, ...]:
    """Return the stretches in the order of time, without gap or overlap."""
    with_time = {task.task: task for task in tasks if task.spans}
    if not with_time:
        return ()
    last = max(with_time.values(), key=lambda task: (task.end, task.task))
    steps = list(_backwards(last, with_time))
    return tuple(_joined(reversed(steps)))


def _backwards(last: TaskStory, tasks: Mapping[str, TaskStory]) -> Iterator[PathStep]:
    task, at = last, last.end
    ends = _ends(tasks.values())
    seen: set[tuple[str, float]] = set()
    while True:
        span = _span_before(task, at)
        if span is None:
            begun = _began_after(task, at, tasks)
            if begun is None:
                return
            before, until = begun
            if at > until:
                yield PathStep(
                    task=task.task, begin=until, end=at, kind=SpanKind.PERSON, why=TO_START
                )
            task, at = before, until
            continue
        seen.add((task.task, at))
        other = _blocker(task, span, at, tasks, ends)
        if other is None or (other[0].task, other[1]) in seen:  # two that wait for each other
            yield _step(task, span, span.begin, at)
            at = span.begin
            continue
        blocker, until = other
        if at > until:
            yield _step(task, span, until, at)
        task, at = blocker, until


def _span_before(task: TaskStory, at: float) -> Span | None:
    """Return the span of a task in which it was just before a moment."""
    place = bisect_left(task.spans, at, key=lambda span: span.begin)
    return task.spans[place - 1] if place else None


def _blocker(
    task: TaskStory,
    span: Span,
    at: float,
    tasks: Mapping[str, TaskStory],
    ends: Sequence[tuple[float, str]],
) -> tuple[TaskStory, float] | None:
    """Return what a task waited for until a moment: the task, and when that let it go."""
    if span.kind == SpanKind.DEPENDENCY:
        found = [
            (min(other.end, at), other.task)
            for name in task.depends_on
            if (other := tasks.get(name)) is not None
            and other.spans
            and span.begin < min(other.end, at)
            and other.begin < min(other.end, at)
        ]
        if found:
            until, name = max(found)
            return tasks[name], until
    if span.kind == SpanKind.SLOT and at == span.end:
        freed = [
            (end, name)
            for end, name in ends
            if max(span.begin, at - CLOSE) < end <= at and name != task.task
        ]
        if freed:
            until, name = max(freed)
            return tasks[name], until
    return None


def _began_after(
    task: TaskStory, at: float, tasks: Mapping[str, TaskStory]
) -> tuple[TaskStory, float] | None:
    """Return which task ended last before another was begun: one that it depends on, if any."""
    needed = [tasks[name] for name in task.depends_on if name in tasks]
    for several in (needed, list(tasks.values())):
        found = [
            (span.end, other.task)
            for other in several
            if other is not task and (span := _last_work(other, at)) is not None
        ]
        if found:
            until, name = max(found)
            return tasks[name], until
    return None


def _last_work(task: TaskStory, at: float) -> Span | None:
    """Return the last stretch of work on a task that had ended by a moment."""
    ended = [span for span in task.spans if span.kind in WORKING and span.end <= at]
    return ended[-1] if ended else None


def _ends(tasks: Iterable[TaskStory]) -> list[tuple[float, str]]:
    """Return when each attempt of each task ended."""
    return sorted(
        (span.end, task.task) for task in tasks for span in task.spans if span.kind in WORKING
    )


def _step(task: TaskStory, span: Span, begin: float, end: float) -> PathStep:
    return PathStep(task=task.task, begin=begin, end=end, kind=span.kind, why=span.why)


def _joined(steps: Iterator[PathStep]) -> Iterator[PathStep]:
    """Yield steps, those that follow each other in one task and of one kind as one."""
    held: PathStep | None = None
    for step in steps:
        if held is not None and replace(held, begin=step.begin, end=step.end) == step:
            held = replace(held, end=step.end)
            continue
        if held is not None:
            yield held
        held = step
    if held is not None:
        yield held
