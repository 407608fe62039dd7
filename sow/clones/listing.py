"""The clones of a project's tasks, as they lie there: found by the tasks' states and the folders.

Reads only.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import UNSET, Struct

from sow.clones.locks import DRAFT, GONE
from sow.clones.main_checkout import Checkout, MainCheckout
from sow.clones.mark import CloneState, mark_at, state_of
from sow.clones.place import Place, branch_name, inside_of, is_own_branch
from sow.clones.record import noted_clone
from sow.clones.removal_risks import RemovalRisks, removal_risks, unmerged
from sow.clones.withheld import copied_to
from sow.errors import StateError
from sow.ids import TASK_ID_PATTERN, TaskId
from sow.schema.task import Task, TaskStatus

ENDED = frozenset({TaskStatus.COMPLETED, TaskStatus.ABANDONED})
"""The statuses of tasks that need no clone any more."""


class NoClone(StateError):
    """A task has no clone now."""

    def __init__(self, task: Task, *, had_one: bool) -> None:
        super().__init__(
            f"task {task.id} has no clone",
            hint=_way_back(task)
            if had_one
            else "A task gets a clone when it is spawned with --clone, or by the setting"
            " clones.use.",
        )


def _way_back(task: Task) -> str:
    """Return what makes a clone again that is gone, as the task stands."""
    again = "creates it again from its branch"
    if task.status in ENDED:
        reopened = f"`sow task reopen {task.id}` makes the task pending"
        return f"The task is {task.status}. {reopened}; the next spawn {again}."
    if task.status is TaskStatus.PENDING or not task.session_started:
        return f"The next `sow agent spawn {task.id}` {again}."
    return f'The next `sow agent resume {task.id} "…"` {again}.'


class FoundClone(Struct, frozen=True):
    """A task's clone, and what stands against removing it."""

    place: Place
    state: CloneState
    risks: RemovalRisks
    task: Task | None
    """None where the task is gone."""


def found_clones(main: MainCheckout, tasks: Sequence[Task]) -> list[FoundClone]:
    """Return the clones that there are, and those that were, by task.

    Raises ProjectBranchGone, FolderInRepository.
    """
    known = {task.id: task for task in tasks}
    found = []
    for place in all_clone_places(main, tasks):
        task = known.get(place.task)
        state = state_of(place)
        was_made = task is not None and task.clone is not UNSET and task.status not in ENDED
        if state is not CloneState.MISSING:
            found.append(FoundClone(place, state, removal_risks_of(main, place), task))
        elif was_made and main.place(known[place.task]) == place:
            left = RemovalRisks(unmerged=unmerged(place, main.repository, main.project_commit))
            found.append(FoundClone(place, state, left, task))
    return found


def removal_risks_of(main: MainCheckout, place: Place, merged: str | None = None) -> RemovalRisks:
    """Return what stands against removing the clone of a task. Raises ProjectBranchGone.

    `merged` is a commit that `main.project_commit` is known to hold.
    """
    withheld = copied_to(main, place)
    project = main.project_commit
    return removal_risks(place, main.repository, project, withheld=withheld, known=merged)


def all_clone_places(main: MainCheckout, tasks: Sequence[Task]) -> list[Place]:
    """Return where clones of the project's tasks lie, may lie, or have left something."""
    own = [main.place(task) for task in tasks]
    places = {place.path: place for place in own}
    for folder in main.folders():
        for task_id in sorted(task_ids_in(folder)):
            path = folder / task_id
            if path not in places:
                named = branch_name(main.project, task_id)
                places[path] = place_at(main, path, main.project.id, named)
    # Of what is on record nothing is asked: one path that no system takes hides no other clone.
    there = [place for place in places.values() if place.base or place.path.parent.is_dir()]
    return sorted(there, key=lambda place: (int(place.task), place.path))


def place_at(here: Checkout, path: Path, project: str, branch: str) -> Place:
    """Return the place of a clone whose task is not known, or has its clone elsewhere now.

    `branch` is what its branch is called where no record and no mark of the clone tells.
    """
    noted, mark = noted_clone(here.repository, project, path.name), mark_at(path, here.checkout)
    named = (each.branch for each in (noted, mark) if each is not None)
    own = (name for name in named if is_own_branch(name, project, path.name))
    return Place(
        workspace=here.workspace.root,
        checkout=here.checkout,
        project=project,
        task=TaskId(path.name),
        path=path,
        branch=next(own, branch),
        inside=inside_of(here.workspace.root, here.repository.top),
        base=noted.base if noted is not None else "",
    )


def task_ids_in(folder: Path) -> set[str]:
    """Return the tasks of which anything lies in a folder of clones."""
    names: set[str] = set()
    for entry in folder.iterdir():
        name = entry.name
        for beginning in (DRAFT, GONE):
            if name.startswith(beginning):
                name = name.removeprefix(beginning).rpartition("-")[0]
        if re.fullmatch(TASK_ID_PATTERN[1:-1], name):
            names.add(name)
    return names
