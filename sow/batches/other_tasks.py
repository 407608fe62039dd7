"""Whether tasks that are no items of a batch come to their end by themselves.

Owns that question, for those that items wait for. Asked of the records alone, and of what
other batches were told of last; no record is read before somebody asks.
"""

from collections.abc import Callable, Collection
from functools import cached_property

from sow.errors import StateError
from sow.ids import ProjectId, TaskId
from sow.jobs import batches
from sow.jobs.batches import UnderWay
from sow.jobs.database import Database
from sow.schema.task import Task, TaskStatus


class Others:
    """The tasks of a project beside those of a batch."""

    def __init__(
        self,
        database: Database,
        project_id: ProjectId,
        task: Callable[[str], Task],
        asking: Collection[TaskId] = (),
    ) -> None:
        """`asking` are the tasks of who asks: nobody waits for itself."""
        self._database = database
        self._project_id = project_id
        self._task = task
        self._asking = asking

    @cached_property
    def _under_way(self) -> UnderWay:
        return batches.under_way(self._database, self._project_id)

    def go_on(self, task_id: TaskId) -> bool:
        """Whether somebody is at work on a task, and on all that it waits for itself.

        By a way of its own, not by recursion: a chain of tasks may be longer than Python goes deep.
        """
        is_any_at_work, seen, way = False, {task_id}, [task_id]
        while way:
            current = way.pop()
            if current in self._asking:
                return False
            if self._waits(current):
                left = self._unmet(current)
                way += left - seen
                seen |= left
                is_any_at_work |= not left  # it is about to begin
            elif self._is_at_work(current):
                is_any_at_work = True
            else:
                return False
        return is_any_at_work

    def _waits(self, task_id: TaskId) -> bool:
        """Whether a task is to begin by itself once others are done."""
        found = self._under_way
        return task_id in found.held or task_id in found.waiting - found.at_work

    def _is_at_work(self, task_id: TaskId) -> bool:
        found = self._under_way
        return task_id in found.at_work or task_id in found.driven

    def _unmet(self, task_id: TaskId) -> set[TaskId]:
        """Return what a task waits for; what cannot be read is no task that goes on."""
        try:
            needed = self._task(task_id).depends_on
        except StateError:
            return set()
        return {TaskId(other) for other in needed if not self._is_completed(other)}

    def _is_completed(self, task_id: str) -> bool:
        try:
            return self._task(task_id).status is TaskStatus.COMPLETED
        except StateError:
            return False
