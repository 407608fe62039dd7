"""What must hold between tasks, and between a task and what names it or is named by it.

Pure: asks the tree that was read. Two tasks of one id are `same_ids`'.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from msgspec import UNSET

from sow.schema.task import Task
from sow.state.dependencies import in_circles, way_back
from sow.validation.kinds import Defect, Kind
from sow.validation.tree import ProjectTree, StateFile, TaskFolder


def relation_defects(
    tree: ProjectTree, roles: Collection[str], checks: Collection[str] | None
) -> Iterator[Defect]:
    """Yield what does not hold in a project. `checks` is None where nobody knows them."""
    for folder in tree.tasks:
        if folder.state is not None:
            yield from _misplaced(folder, folder.state)
            yield from _unknown_names(folder.state, roles, checks)
    yield from _dependencies(tree)
    yield from _same_keys(tree)
    yield from _phases(tree)


def _misplaced(folder: TaskFolder, state: StateFile[Task]) -> Iterator[Defect]:
    for key, says, lies in (
        ("id", state.content.id, folder.id),
        ("phase", state.content.phase, folder.phase),
    ):
        if says != lies:
            what = f"task.{key}: it says {says!r} but lies in the folder of {lies!r}"
            yield state.defect(Kind.MISPLACED, "task", key, what=what)


def _unknown_names(
    state: StateFile[Task], roles: Collection[str], checks: Collection[str] | None
) -> Iterator[Defect]:
    task = state.content
    if task.assigned_agent not in roles:
        what = f"there is no role {task.assigned_agent}"
        remedy = f"`sow agent list` shows the roles: sow task set {task.id} assigned_agent ROLE"
        yield state.defect(Kind.UNKNOWN_ROLE, "task", "assigned_agent", what=what, remedy=remedy)
    wanted = () if task.checks is UNSET or checks is None else task.checks
    for number, name in enumerate(wanted):
        if checks is not None and name not in checks:
            what = f"there is no check {name}"
            yield state.defect(Kind.UNKNOWN_CHECK, "task", "checks", number, what=what)


def _dependencies(tree: ProjectTree) -> Iterator[Defect]:
    known = {folder.id for folder in tree.tasks}
    states = {folder.id: folder.state for folder in tree.tasks if folder.state is not None}
    for folder in tree.tasks:
        if folder.state is None:
            continue
        for number, other in enumerate(folder.state.content.depends_on):
            if other not in known:
                what = f"task {folder.id} depends on {other}, which does not exist"
                keys = ("task", "depends_on", number)
                yield folder.state.defect(Kind.UNKNOWN_TASK, *keys, what=what)
        yield from _twice(folder.state, ("task", "depends_on"), folder.state.content.depends_on)
    waits = {task_id: state.content.depends_on for task_id, state in states.items()}
    named: set[str] = set()
    for task_id in sorted(in_circles(waits)):
        way = way_back(task_id, lambda other: waits.get(other, ()))  # type: ignore[arg-type]
        if way and not named & set(way):
            named |= set(way)
            number = waits[task_id].index(way[1])
            what = f"it would wait for itself: {' → '.join(way)}"
            yield states[task_id].defect(Kind.CIRCLE, "task", "depends_on", number, what=what)


def _twice(state: StateFile[Task], keys: tuple[str, ...], items: Sequence[str]) -> Iterator[Defect]:
    """Yield each plain item that a list has a second time."""
    for number, item in enumerate(items):
        if item in items[:number]:
            what = f"{keys[-1]}: {item} stands there twice"
            yield state.defect(Kind.LISTED_TWICE, *keys, number, what=what, is_mended=True)


def _same_keys(tree: ProjectTree) -> Iterator[Defect]:
    states = [folder.state for folder in tree.tasks if folder.state is not None]
    keys = Counter(state.content.key for state in states if state.content.key is not UNSET)
    seen: dict[str, str] = {}
    for state in states:
        task = state.content
        if task.key is UNSET or keys[task.key] < 2:
            continue
        if task.key in seen:
            what = f"task {seen[task.key]} has the key {task.key} too"
            yield state.defect(Kind.SAME_KEY, "task", "key", what=what)
        seen.setdefault(task.key, task.id)


def _phases(tree: ProjectTree) -> Iterator[Defect]:
    if tree.state is None:
        return
    project = tree.state.content
    for phase in dict.fromkeys(folder.phase for folder in tree.tasks):
        if phase not in project.phases:
            yield Defect(
                kind=Kind.UNLISTED_PHASE,
                path=tree.state.path,
                line=tree.state.line("project", "phases"),
                what=f"tasks lie in the phase {phase}, which the project does not list",
                remedy=f"Add it: `sow phase add {phase}`",
                is_mended=True,
                subject=phase,
            )
    finished = () if project.finished_phases is UNSET else project.finished_phases
    for number, phase in enumerate(finished):
        if phase not in project.phases:
            what = f"the phase {phase} is finished, and the project does not list it"
            keys = ("project", "finished_phases", number)
            yield tree.state.defect(Kind.UNKNOWN_PHASE, *keys, what=what)
