"""How the batches stand that go on, by the tasks that were read already."""

from collections.abc import Callable, Mapping, Sequence

from sow.batches.gathering import Seen
from sow.calls.batch_look import Work
from sow.calls.batch_turn import refusals_now
from sow.calls.batch_wait import look_at_batch
from sow.calls.caller import Caller
from sow.config.configuration import Configuration
from sow.errors import SowError
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.schema.batch import Batch
from sow.schema.task import Task
from sow.situation.situation import BatchNow


class KnownTasks(Seen):
    """What a look at batches has read of tasks: that of the look around it."""

    def __init__(self, workspace: Workspace, tasks: Sequence[Task]) -> None:
        super().__init__(workspace)
        self._known: Mapping[str, Task] = {task.id: task for task in tasks}

    def task(self, task_id: str) -> Task:
        """Return a task as the look has found it. Raises what `read_task` does."""
        return self._known.get(task_id) or super().task(task_id)


def look_at_batches(
    caller: Caller,
    database: Database,
    configuration: Configuration,
    found: Sequence[Batch],
    tasks: Sequence[Task],
    tell: Callable[[SowError], None],
) -> list[BatchNow]:
    """Return how some batches stand; `tell` hears of what keeps one from being looked at.

    Such a one is taken for one that goes on: nobody can tell that it wants a person.
    """
    seen = KnownTasks(caller.workspace, tasks)
    looks = []
    for batch in found:
        try:
            now = look_at_batch(caller, database, configuration, batch.id, seen)
            work = Work(caller, database, configuration, now.batch)
            looks.append(BatchNow(now.batch, now.plan, now.rests, refusals_now(work, seen)))
        except SowError as error:
            tell(error)
            looks.append(BatchNow(batch, None, rests=False))
    return looks
