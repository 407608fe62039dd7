"""How long the longest chain of dependent tasks takes by itself, with a slot for each. Pure."""

from collections.abc import Mapping, Sequence

from sow.schema.output.report import SpanKind, TaskStory

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
