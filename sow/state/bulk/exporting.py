"""The tasks of a project as entries: what importing them again would change nothing of.

Owns how a task is named there: by its key where it has one, else by its id.
"""

from collections.abc import Sequence

from msgspec import UNSET

from sow.schema.references import named_in
from sow.schema.task import Task
from sow.schema.task_entry import TaskEntry
from sow.state.bulk.importing import description_at
from sow.state.tasks import TaskPlace


def entries_of(tasks: Sequence[tuple[TaskPlace, Task]]) -> list[TaskEntry]:
    """Return each task as an entry, in the same order."""
    names = {task.id: task.id if task.key is UNSET else task.key for _, task in tasks}
    return [_entry(place, task, names) for place, task in tasks]


def _entry(place: TaskPlace, task: Task, names: dict[str, str]) -> TaskEntry:
    return TaskEntry(
        key=None if task.key is UNSET else task.key,
        id=task.id if task.key is UNSET else None,
        name=task.name,
        agent=task.assigned_agent,
        phase=task.phase,
        description=description_at(place).rstrip() or None,
        depends_on=[names.get(other, other) for other in task.depends_on] or None,
        references=named_in(task.references) or None,
        checks=None if task.checks is UNSET else list(task.checks),
        requires=None if task.requires is UNSET else list(task.requires),
        priority=None if task.priority is UNSET else task.priority,
    )
