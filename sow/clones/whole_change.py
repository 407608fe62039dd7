"""What a task has changed in the repository: its commits, or what differs in the tree."""

from msgspec import UNSET

from sow.clones.main_checkout import known_settings, main_checkout
from sow.clones.task_diff import TaskChange, everybodys_change, task_change
from sow.paths import Workspace
from sow.schema.task import Task


def change_of_task(workspace: Workspace, task: Task, *, patch: bool, stat: bool) -> TaskChange:
    """Return the change of a task's commits; for one without a clone, of the tree that all share.

    Raises NoRepository, GitRefused.
    """
    if task.clone is UNSET:
        return everybodys_change(workspace.root, patch=patch, stat=stat)
    main = main_checkout(workspace, known_settings(workspace))
    place = main.place(task)
    facts = place.since(place.base or task.clone.base)
    return task_change(main.repository, facts, main.project_branch, patch=patch, stat=stat)
