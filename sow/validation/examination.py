"""The whole of `.sow` looked through: all checks, in the order of the files.

Owns that order, and that nothing is told of what is only just being written: a
first look takes no lock, and where it finds anything a second one takes the
locks of all writers.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from msgspec import UNSET, Struct

from sow.agents.roles import AGENTS
from sow.files import NotAFile, read_inside
from sow.lifecycle.circles import behind_circles
from sow.paths import Workspace
from sow.schema.task import Task
from sow.state.dependencies import way_back
from sow.validation.completion_defects import completion_defects
from sow.validation.conflicts import (
    Added,
    Marked,
    added_by_both,
    conflict_defects,
    marked_files,
)
from sow.validation.foundation import foundation_defects, known_checks
from sow.validation.history import History
from sow.validation.indexes import knowledge_defects, reference_defects
from sow.validation.kinds import Defect, Kind
from sow.validation.log_entries import log_defects
from sow.validation.mixed_projects import Mixed, meeting, mixed_defects, mixed_projects
from sow.validation.reading import Hold, held, read_tree, unheld
from sow.validation.records import record_defects
from sow.validation.same_ids import Pair, pairs_of, same_id_defects
from sow.validation.tree import ProjectTree, StateFile, TaskFolder, Tree

TEXT_LIMIT = 1 << 20


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
            what = f"task.{key}: its value is {says!r}, but its folder is {lies!r}"
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
    for task_id in sorted(behind_circles(waits)):
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
            what = f"{keys[-1]}: {item} is listed twice"
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
                what=f"tasks are in the phase {phase}, which the project does not list",
                remedy=f"Add it: `sow phase add {phase}`",
                is_mended=True,
                subject=phase,
            )
    finished = () if project.finished_phases is UNSET else project.finished_phases
    for number, phase in enumerate(finished):
        if phase not in project.phases:
            what = f"the phase {phase} is finished, but the project does not list it"
            keys = ("project", "finished_phases", number)
            yield tree.state.defect(Kind.UNKNOWN_PHASE, *keys, what=what)


def archive_defects(tree: Tree) -> Iterator[Defect]:
    """Yield what is odd about the projects of the archive."""
    project = tree.project.state if tree.project is not None else None
    seen = {project.content.id: "the current project"} if project is not None else {}
    for archive in tree.archives:
        if archive.state is None:
            continue
        content = archive.state.content
        if content.ending is UNSET:
            what = f"the project {content.name!r} is in the archive, but was not ended"
            remedy = "To continue it, move the folder back to .sow/project. Otherwise restore"
            remedy = f"{remedy} `ending` with git."
            yield archive.state.defect(Kind.ARCHIVE, "project", what=what, remedy=remedy)
        if content.id in seen:
            what = f"it has the same id as {seen[content.id]}: {content.id}"
            yield archive.state.defect(Kind.ARCHIVE, "project", "id", what=what)
        seen.setdefault(content.id, f"the archived project {archive.folder.name}")


class Examined(Struct, frozen=True):
    """What was found, and all that whoever mends it needs."""

    tree: Tree
    history: History
    marked: Sequence[Marked]
    added: Sequence[Added]
    pairs: Sequence[Pair]
    mixed: Sequence[Mixed]
    defects: Sequence[Defect]
    """In the order of files and lines."""


def examine(workspace: Workspace, user_config: Path) -> Examined:
    """Look through `.sow`, and once more under the locks if anything is wrong.

    `user_config` is where the user's settings stand, for words alone. Raises StateLocked.
    """
    found = _look(workspace, user_config, unheld)
    return _look(workspace, user_config, held) if found.defects else found


def _look(workspace: Workspace, user_config: Path, hold: Hold) -> Examined:
    tree, history = read_tree(workspace, hold), History(workspace.root)
    mixed, met = mixed_projects(tree, history), meeting(workspace, history)
    is_project_too = met is not None or any(each.present for each in mixed)
    apart = [*(each.folder for each in mixed), *([workspace.project] if is_project_too else [])]
    marked = [each for each in marked_files(workspace, history) if not _is_in(apart, each.path)]
    added = [pair for each in marked if (pair := added_by_both(each, history)) is not None]
    project = tree.project
    pairs: list[Pair] = []
    found = [
        *tree.defects,
        *conflict_defects(marked, added, history),
        *foundation_defects(tree, user_config),
        *archive_defects(tree),
        *reference_defects(tree),
        *knowledge_defects(workspace),
    ]
    if project is not None:
        present = [pair for pair in added if pair.folder.is_relative_to(workspace.project)]
        pairs = pairs_of(project, present, history)
        roles = [agent.name for agent in AGENTS]
        found += relation_defects(project, roles, known_checks(workspace))
        found += same_id_defects(project, added, pairs)
        found += record_defects(workspace, project)
        found += completion_defects(workspace, project)
    for each in [*([project] if project is not None else []), *tree.archives]:
        for folder in (each.folder, *(task.folder for task in each.tasks)):
            with hold(folder):
                found += log_defects(folder / "log.md")
            found += _unreadable(workspace.root, folder)
    parted = [*mixed_defects(mixed), *([met] if met is not None else [])]
    parted += [each for each in found if not _is_in(apart, each.path)]
    return Examined(tree, history, marked, added, pairs, mixed, in_order(parted))


def _is_in(folders: Sequence[Path], path: Path) -> bool:
    """Whether a path lies in a folder of a project that has to be parted from another first."""
    return any(path.is_relative_to(folder) for folder in folders)


def in_order(defects: Collection[Defect]) -> list[Defect]:
    """Return defects by file, line and kind, each once."""
    once = {(each.path, each.line, each.kind, each.what): each for each in defects}
    return sorted(
        once.values(),
        key=lambda each: (each.path.parts, each.line or 0, each.kind, each.what),
    )


def _unreadable(root: Path, folder: Path) -> Iterator[Defect]:
    """Yield the descriptions and feedback that agents are to read and nobody can."""
    feedback = folder / "feedback"
    words = sorted(feedback.glob("*.md")) if feedback.is_dir() else []
    for path in (folder / "description.md", *words):
        try:
            read_inside(path, root, TEXT_LIMIT)
        except FileNotFoundError:
            continue
        except NotAFile as error:
            what = f"it cannot be read: {error.reason}"
            yield Defect(kind=Kind.UNREADABLE, path=path, what=what)
