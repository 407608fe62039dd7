"""Two tasks of one id, which two people have added on branches of their own.

Owns how such a pair is found (as two folders, or in one state file in conflict),
whose is whose, and which other task means which of the two.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path

from msgspec import Struct

from sow.schema.task import Task, TaskState
from sow.state.state_errors import InvalidState, NewerState
from sow.state.statefiles import parse_state
from sow.validation.conflicts import Added, both_words
from sow.validation.history import History, Sides
from sow.validation.kinds import Defect, Kind
from sow.validation.tree import ProjectTree, TaskFolder

FORMER_ID = "renumbered_from"
"""The key of `metadata` that keeps the id which a task had before."""


class Pair(Struct, frozen=True):
    """Two tasks of one id, and whose they are."""

    id: str
    ours: Task
    theirs: Task
    our_folder: Path
    their_folder: Path
    """The same folder, where both lie in one."""
    our_text: bytes
    their_text: bytes
    sides: Sides | None
    """None where git cannot tell; then nothing else may depend on the id."""

    @property
    def is_in_conflict(self) -> bool:
        """Whether both lie in one folder, in conflict."""
        return self.our_folder == self.their_folder


def folder_groups(tree: ProjectTree) -> list[list[TaskFolder]]:
    """Return the folders that share their id with others, by id."""
    groups: dict[str, list[TaskFolder]] = {}
    for folder in tree.tasks:
        groups.setdefault(folder.id, []).append(folder)
    return [group for _, group in sorted(groups.items()) if len(group) > 1]


def pairs_of(tree: ProjectTree, added: Sequence[Added], history: History) -> list[Pair]:
    """Return the pairs of which it is known whose each is, by id; one of each id at a time."""
    pairs = {pair.id: pair for pair in _in_folders(tree, history)}
    for found in added:
        sides = _merge_that_added(found, history)
        pair = Pair(
            id=found.our_task.id,
            ours=found.our_task,
            theirs=found.their_task,
            our_folder=found.folder,
            their_folder=found.folder,
            our_text=found.ours,
            their_text=found.theirs,
            sides=sides,
        )
        if pair.id not in pairs and (sides is not None or not _is_depended_on(tree, pair.id)):
            pairs[pair.id] = pair
    return [pairs[task_id] for task_id in sorted(pairs)]


def _merge_that_added(found: Added, history: History) -> Sides | None:
    """Return the sides of the merge that has brought both tasks into one file."""
    path = found.folder / "state.yaml"

    def fits(sides: Sides) -> bool:
        mine, its = (_task_in(history.had(each, path), path) for each in (sides.ours, sides.theirs))
        return (
            mine is not None
            and its is not None
            and mine.created_at == found.our_task.created_at
            and its.created_at == found.their_task.created_at
        )

    return history.merge_of(fits, path)


def _is_depended_on(tree: ProjectTree, task_id: str) -> bool:
    states = [folder.state for folder in tree.tasks if folder.state is not None]
    return any(task_id in state.content.depends_on for state in states)


def _in_folders(tree: ProjectTree, history: History) -> Iterator[Pair]:
    for group in folder_groups(tree):
        for first, second in combinations(group, 2):
            known = _whose(first, second, history)
            if known is None:
                continue
            ours, theirs, sides = known
            if ours.state is not None and theirs.state is not None:
                yield Pair(
                    id=ours.id,
                    ours=ours.state.content,
                    theirs=theirs.state.content,
                    our_folder=ours.folder,
                    their_folder=theirs.folder,
                    our_text=ours.state.text,
                    their_text=theirs.state.text,
                    sides=sides,
                )
                break


def _whose(
    first: TaskFolder, second: TaskFolder, history: History
) -> tuple[TaskFolder, TaskFolder, Sides] | None:
    """Return ours, theirs and the sides; None where nobody can tell, or both are one task."""
    if first.state is None or second.state is None or _is_same(first, second):
        return None
    paths = first.state.path, second.state.path
    for ours, theirs in ((first, second), (second, first)):
        mine, its = ours.folder / "state.yaml", theirs.folder / "state.yaml"
        fits = partial(_separates, mine=mine, its=its, history=history)
        merge = history.merge_of(fits, *paths)
        if merge is not None:
            return ours, theirs, merge
    for ours, theirs in ((first, second), (second, first)):
        mine, its = ours.folder / "state.yaml", theirs.folder / "state.yaml"
        if not history.is_tracked(mine) and history.is_tracked(its):
            sides = history.against_working_tree()
            return (ours, theirs, sides) if sides is not None else None
        in_line = history.in_line(its)
        if in_line is not None and history.had(in_line.ours, mine) is not None:
            return ours, theirs, in_line
    return None


def _is_same(first: TaskFolder, second: TaskFolder) -> bool:
    """Whether two folders hold the same task, which somebody has moved or copied."""
    assert first.state is not None  # noqa: S101 - asked before
    assert second.state is not None  # noqa: S101 - asked before
    return first.state.content.created_at == second.state.content.created_at and (
        first.state.content.name == second.state.content.name
    )


def _separates(sides: Sides, mine: Path, its: Path, history: History) -> bool:
    return (
        history.had(sides.ours, mine) is not None
        and history.had(sides.theirs, its) is not None
        and history.had(sides.ours, its) is None
        and history.had(sides.theirs, mine) is None
    )


def same_id_defects(
    tree: ProjectTree, added: Sequence[Added], pairs: Sequence[Pair]
) -> Iterator[Defect]:
    """Yield the pairs, those whose sides are known and those of which nobody can tell."""
    known = {pair.id: pair for pair in pairs}
    for found in added:
        yield Defect(
            kind=Kind.SAME_ID,
            path=found.folder / "state.yaml",
            line=found.line,
            what=both_words(found.our_task, found.their_task),
            is_mended=known.get(found.our_task.id) is not None,
            subject=found.our_task.id,
        )
    for group in folder_groups(tree):
        pair = known.get(group[0].id)
        theirs = next(
            (folder for folder in group if pair and folder.folder == pair.their_folder), group[-1]
        )
        others = ", ".join(folder.phase for folder in group if folder is not theirs)
        what = f"the phase {others} has a task {theirs.id} too"
        if pair is not None and not pair.is_in_conflict:
            what = f"{both_words(pair.ours, pair.theirs)} (in the phase {theirs.phase})"
        line = theirs.state.line("task", "id") if theirs.state is not None else None
        path = theirs.folder / "state.yaml" if theirs.state is not None else theirs.folder
        yield Defect(
            kind=Kind.SAME_ID,
            path=path,
            line=line,
            what=what,
            is_mended=pair is not None,
            subject=theirs.id,
        )


def meant_by(pair: Pair, folder: TaskFolder, history: History) -> frozenset[str]:
    """Return which of the two a task means that depends on their id: `ours`, `theirs` or both."""
    sides, path = pair.sides, _first_folder(folder) / "state.yaml"
    if sides is None:
        return frozenset({"ours"})
    in_theirs = pair.id in _dependencies(history.had(sides.theirs, path), path)
    in_ours = pair.id in _dependencies(history.had(sides.ours, path), path)
    if sides.are_in_line:
        return frozenset({"ours" if in_ours else "theirs"})
    if sides.ours is None:
        return frozenset({"theirs" if in_theirs else "ours"})
    both: Mapping[str, bool] = {"ours": in_ours, "theirs": in_theirs}
    return frozenset(name for name, means in both.items() if means) or frozenset({"ours"})


def _first_folder(folder: TaskFolder) -> Path:
    """Return where a task lay before it got another id."""
    metadata = folder.state.content.metadata if folder.state is not None else {}
    former = metadata.get(FORMER_ID)
    return folder.folder.with_name(former) if isinstance(former, str) else folder.folder


def _dependencies(text: bytes | None, path: Path) -> Sequence[str]:
    task = _task_in(text, path)
    return task.depends_on if task is not None else ()


def _task_in(text: bytes | None, path: Path) -> Task | None:
    """Return the task that a version of a state file holds; None where it cannot be read."""
    if text is None:
        return None
    try:
        return parse_state(text, TaskState, path=path).task
    except (InvalidState, NewerState):
        return None
