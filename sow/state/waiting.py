"""Which task waits for what: by the tasks' files alone.

Pure. Owns when a task is ready, when it waits, and when nothing that goes on by
itself would ever let it begin. Whether a job of it is queued is not asked here.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from sow.lifecycle.circles import behind_circles
from sow.schema.task import Task, TaskStatus

MISSING = "missing"
"""The word for a task that is waited for and is not there."""
DEAD_ENDS: frozenset[str] = frozenset({TaskStatus.FAILED, TaskStatus.ABANDONED, MISSING})
"""What a task does not come out of without somebody's word."""


class Standing(StrEnum):
    """How a task stands that has not begun."""

    READY = "ready"
    WAITING = "waiting"
    BLOCKED = "blocked"


class Among:
    """The tasks of a project, each with what it waits for."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self.tasks: Mapping[str, Task] = {task.id: task for task in tasks}
        self._blocked = self._find_blocked()

    def unmet(self, task: Task) -> dict[str, str]:
        """Return what a task waits for, by id, with the status of each; nothing once it has run."""
        return self.unmet_of(task.depends_on) if task.depends_on and _is_to_begin(task) else {}

    def unmet_of(self, depends_on: Iterable[str]) -> dict[str, str]:
        """Return those of some tasks that are not completed, with the status of each."""
        words = {other: self._word_of(other) for other in depends_on}
        return {other: word for other, word in words.items() if word != TaskStatus.COMPLETED}

    def standing_of(self, task: Task) -> Standing | None:
        """Return how a task stands; None once it has begun.

        One whose job is queued until its dependencies are met waits like any other.
        """
        if task.id in self._blocked:
            return Standing.BLOCKED
        if self.unmet(task):
            return Standing.WAITING
        return Standing.READY if task.status is TaskStatus.PENDING else None

    def dead_ends(self, task: Task) -> dict[str, str]:
        """Return those of its unmet dependencies that will not be met by themselves."""
        return self.dead_ends_of(self.unmet(task))

    def dead_ends_of(self, depends_on: Iterable[str]) -> dict[str, str]:
        """Return those of some tasks that will not be completed by themselves."""
        return {
            other: word
            for other, word in self.unmet_of(depends_on).items()
            if word in DEAD_ENDS or other in self._blocked
        }

    def _word_of(self, task_id: str) -> str:
        task = self.tasks.get(task_id)
        return task.status.value if task is not None else MISSING

    def _find_blocked(self) -> set[str]:
        """Return the tasks that wait for a dead end, for one that does, or in a circle."""
        waiting = {task_id: self.unmet(task) for task_id, task in self.tasks.items()}
        dependents: dict[str, list[str]] = {}
        for task_id, unmet in waiting.items():
            for other in unmet:
                dependents.setdefault(other, []).append(task_id)
        blocked = set(behind_circles({task: tuple(unmet) for task, unmet in waiting.items()}))
        blocked |= {
            task_id for task_id in waiting if DEAD_ENDS.intersection(waiting[task_id].values())
        }
        spreading = list(blocked)
        while spreading:
            caught = set(dependents.get(spreading.pop(), ())) - blocked
            blocked |= caught
            spreading += caught
        return blocked


def _is_to_begin(task: Task) -> bool:
    """Whether nobody has worked on it yet, though a job of it may be queued."""
    if task.status is TaskStatus.PENDING:
        return True
    return task.status is TaskStatus.IN_PROGRESS and not task.session_started
