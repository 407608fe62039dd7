"""A task's clone on record in its `state.yaml`: place, branch and base.

Owns when that is written: by whoever makes the clone, once it lies in its place.
"""

from sow.clone_mark import CloneMark
from sow.paths import Workspace
from sow.schema.task import Task
from sow.state.tasks import change_task


def record_clone(workspace: Workspace, mark: CloneMark, *, now: float) -> Task:
    """Write where a task's clone lies into its state, and return the task.

    What stands there already is not written again. Raises what `change_task` does.
    """
    clone = {"path": mark.path, "branch": mark.branch, "base": mark.base}
    return change_task(
        workspace,
        mark.task,
        lambda task: {} if _has(task, clone) else {"clone": clone},
        now=now,
    )


def _has(task: Task, clone: dict[str, str]) -> bool:
    return all(getattr(task.clone, key, None) == value for key, value in clone.items())
