"""A task that never ran is removed: its folder, as if it had not been added.

Owns what stands against that, as far as files tell. Whether a job of it is on
record is the caller's to ask, under the locks.
"""

from collections.abc import Callable

from sow.errors import StateError
from sow.files import locked_folder
from sow.paths import Workspace
from sow.schema.task import Task, TaskStatus
from sow.state import task_folder
from sow.state.bulk import journal
from sow.state.tasks import all_places, find_task, read_task_at


def _command(task: Task, other: Task) -> str:
    left = ",".join(each for each in other.depends_on if each != task.id)
    return f'  sow task set {other.id} depends_on "{left}"'


def remove_task(workspace: Workspace, task_id: str, check: Callable[[Task], None]) -> Task:
    """Remove a task that never ran, and return it. `check` raises where its jobs forbid that.

    Raises UnknownTask, StateError, StateLocked, NotWritten; nothing is changed then.
    """
    place = find_task(workspace, task_id)
    with locked_folder(workspace.project):
        journal.complete(workspace)
        others = [read_task_at(each) for each in all_places(workspace) if each != place]
        with locked_folder(place.folder):
            task = read_task_at(place)
            if not task.never_ran:
                live = " --cancel-job" if task.status is TaskStatus.IN_PROGRESS else ""
                give_up = {
                    TaskStatus.ABANDONED: "It is already abandoned",
                    TaskStatus.COMPLETED: "It is done",
                }.get(task.status, f"`sow task abandon {task.id}{live}` abandons it")
                raise StateError(
                    f"task {task.id} cannot be removed: it was started (it is {task.status})",
                    hint=f"{give_up}; its work and its log are kept.",
                )
            dependents = [other for other in others if task.id in other.depends_on]
            if dependents:
                commands = [_command(task, other) for other in dependents]
                raise StateError(
                    f"task {task.id} cannot be removed:"
                    f" {', '.join(other.id for other in dependents)}"
                    f" {'depends' if len(dependents) == 1 else 'depend'} on it",
                    hint="\n".join(["Remove the dependencies first:", *commands]),
                )
            check(task)
            task_folder.take_away(place.folder)
            return task
