"""Which task each entry of a file is: by its key, else by its id, else a new one.

Owns that, and that no two entries are the same task.
"""

from collections.abc import Collection, Sequence

from msgspec import UNSET

from sow.ids import TaskId
from sow.schema.task import Task
from sow.schema.task_entry import TaskEntry
from sow.state.bulk.entries import GivenTasks
from sow.state.tasks import ID_STEP, next_id


def named(entry: TaskEntry) -> str:
    """Return an entry's name for people."""
    return f"{entry.key or entry.id}"


def name_tasks(
    given: GivenTasks, tasks: Sequence[Task], used: Collection[str] = ()
) -> list[TaskId]:
    """Return the id of each entry's task, in their order. Raises InvalidEntry.

    `used` are ids that no new task gets (`state.used_ids`).
    """
    _refuse_nameless(given)
    _refuse_twice(given, "key")
    _refuse_twice(given, "id")
    by_key = {task.key: TaskId(task.id) for task in tasks if task.key is not UNSET}
    taken = {task.id for task in tasks} | {entry.id for entry in given.entries if entry.id}
    there = {task.id for task in tasks}
    free = int(next_id({*taken, *used}))
    ids: list[TaskId] = []
    for index, entry in enumerate(given.entries):
        found = by_key.get(entry.key) if entry.key is not None else None
        if found is not None and entry.id not in (None, found):
            raise given.fault(
                *(index, "id"),
                reason=f"the task of the key {entry.key!r} is {found}, not {entry.id}",
                remedy="Remove the id, or give this task its own key.",
            )
        if entry.id in used and entry.id not in there:
            raise given.fault(
                *(index, "id"),
                reason=f"{entry.id} was the id of a removed task whose clone still exists",
                remedy="Give another id, or only a `key`: sow then takes the next free id.",
            )
        if found is None and entry.id is None:
            found = TaskId(f"{free:03d}")
            free += ID_STEP
        ids.append(found or TaskId(entry.id or ""))
    return _refuse_same(given, ids)


def _refuse_nameless(given: GivenTasks) -> None:
    for index, entry in enumerate(given.entries):
        if entry.key is None and entry.id is None:
            raise given.fault(
                index,
                reason="it has neither a key nor an id",
                remedy=(
                    "Give it a `key`, such as `key: login`. The next import finds the task"
                    " by its key."
                ),
            )


def _refuse_twice(given: GivenTasks, name: str) -> None:
    seen: set[str] = set()
    for index, entry in enumerate(given.entries):
        word = getattr(entry, name)
        if word in seen:
            raise given.fault(
                *(index, name),
                reason=f"two tasks in the file have the {name} {word!r}",
                remedy=f"Give one of them another {name}.",
            )
        seen |= {word} - {None}


def _refuse_same(given: GivenTasks, ids: list[TaskId]) -> list[TaskId]:
    """Refuse two entries that are one task: by its key here, by its id there."""
    seen: set[TaskId] = set()
    for index, task_id in enumerate(ids):
        if task_id in seen:
            raise given.fault(
                index,
                reason=f"it is task {task_id}, which is already in the file",
                remedy="Combine the two entries.",
            )
        seen.add(task_id)
    return ids
