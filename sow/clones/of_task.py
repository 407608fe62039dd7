"""The clone of one task, as those see it who start something in it."""

from pathlib import Path

from sow.clones.main_checkout import main_checkout
from sow.clones.mark import Stage, own_mark
from sow.clones.place import Place
from sow.config.configuration import Configuration
from sow.errors import StateError
from sow.paths import Workspace
from sow.schema.task import Task


def clone_place(workspace: Workspace, config: Configuration, task: Task) -> Place:
    """Return where a task's clone lies; it need not be there.

    Raises NoRepository, GitMissing, FolderInRepository.
    """
    return main_checkout(workspace, config.clones).place(task)


def existing_clone(workspace: Workspace, config: Configuration, task: Task) -> Path:
    """Return the same of a clone that is there and whole. Raises StateError."""
    place = main_checkout(workspace, config.clones).place(task)
    mark = own_mark(place)
    if mark is None or mark.stage != Stage.WHOLE:
        raise StateError(
            f"the clone of task {task.id} is not at {place.path}",
            hint=f'The next `sow agent resume {task.id} "…"` makes it again from its branch.',
        )
    return place.root
