"""What a task may wait for: tasks that exist, and never itself by any way.

Owns these two rules. Reads no file: the dependencies of others are asked for.
"""

from collections.abc import Callable, Collection, Sequence

from sow.ids import TaskId, parse_task_id
from sow.state.state_errors import RefusedDependency, UnknownTask


def refuse_unknown(task_id: TaskId, depends_on: Sequence[str], known: Collection[TaskId]) -> None:
    """Raise unless all of `depends_on` are known, and none is the task itself.

    Raises UnknownTask, RefusedDependency, and StateError for what is no id.
    """
    for other in map(parse_task_id, depends_on):
        if other == task_id:
            raise RefusedDependency(task_id, "a task cannot wait for itself")
        if other not in known:
            raise UnknownTask(other, sorted(known))


def refuse_circle(
    task_id: TaskId, depends_on: Sequence[str], ask: Callable[[TaskId], Sequence[str]]
) -> None:
    """Follow `depends_on` to the end by what `ask` tells of each other task.

    Raises RefusedDependency, with the way, where that leads back to `task_id`.
    """
    way = way_back(task_id, lambda other: depends_on if other == task_id else ask(other))
    if way:
        raise RefusedDependency(task_id, f"it would wait for itself: {' → '.join(way)}")


def way_back(task_id: TaskId, ask: Callable[[TaskId], Sequence[str]]) -> tuple[str, ...]:
    """Return the way on which a task waits for itself, as `ask` tells it; empty for none."""
    waiting: list[tuple[str, ...]] = [(task_id, other) for other in ask(task_id)]
    seen: set[str] = set()
    while waiting:
        way = waiting.pop()
        if way[-1] == task_id:
            return way
        if way[-1] not in seen:
            seen.add(way[-1])
            waiting += [(*way, further) for further in ask(TaskId(way[-1]))]
    return ()
