"""Projects whose files git has mixed up, because one of them lay where the other one lies.

The folder of a project moves into the archive when it ends. On a branch that was made of its
branch, and has a project of its own in the old place, git takes that one for changes of the first
and moves them along. Owns how this is seen, and what each folder holds by right, as git's commits
tell: an ended project does not change. Changes nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from sow.paths import Workspace
from sow.schema.project import ProjectState
from sow.schema.task import TaskState
from sow.state.archive import OWN_NAME, is_of_another
from sow.state.state_errors import InvalidState, NewerState
from sow.state.statefiles import parse_state
from sow.validation.history import History, Sides
from sow.validation.kinds import Defect, Kind
from sow.validation.marks import conflict_in
from sow.validation.tree import Tree

STATE = "state.yaml"


class Mixed(Struct, frozen=True):
    """An ended project that holds files of another one."""

    folder: Path
    right: Mapping[str, bytes]
    """What its folder holds by right, by the names below it."""
    present: Mapping[str, bytes]
    """What is missing of that one in `.sow/project`."""
    is_known: bool
    """Whether git tells where the other project is; else nothing may be taken from this folder."""


def mixed_projects(tree: Tree, history: History) -> list[Mixed]:
    """Return the ended projects that a merge or a rebase has mixed with another project."""
    found = []
    for archive in tree.archives:
        state = archive.state
        is_other = state is not None and is_of_another(archive.folder, state.content)
        if is_other or any(path.is_relative_to(archive.folder) for path in history.unmerged):
            mixed = _mixed(tree, history, archive.folder)
            found += [mixed] if mixed is not None else []
    return found


def _mixed(tree: Tree, history: History, folder: Path) -> Mixed | None:
    commit = history.that_added(folder / STATE)
    right = history.files_in(commit, folder) if commit else {}
    own = _identity(right.get(STATE, b""), STATE)
    if own is None or not any(_has_another(folder, name, text) for name, text in right.items()):
        return None
    project = tree.workspace.project
    sides = history.merge_of(
        lambda each: _other_side(history, each, project, own) is not None, folder
    )
    home = None if sides is None else _other_side(history, sides, project, own)
    there = history.files_in(home, project) if home else {}
    fits = not (project / STATE).exists() or _present(tree) == _identity(
        there.get(STATE, b""), STATE
    )
    is_now = fits and (history.under_way is not None or not (project / STATE).exists())
    present = {
        name: text for name, text in there.items() if is_now and not (project / name).exists()
    }
    is_known = (bool(there) and fits) or _lie_elsewhere(tree, folder, own)
    return Mixed(folder, right, present, is_known)


def _present(tree: Tree) -> str | None:
    return _identity(_text(tree.workspace.project_state), STATE)


def _has_another(folder: Path, name: str, text: bytes) -> bool:
    """Whether a state file has, on one side at least, what no change of it could have made."""
    if not name.endswith(STATE):
        return False
    own = _identity(text, name)
    return any(_identity(side, name) not in (own, None) for side in _sides_in(_text(folder / name)))


def _sides_in(text: bytes) -> tuple[bytes, ...]:
    """Return both versions of a file in conflict, and the one of any other."""
    conflict = conflict_in(text)
    return (text,) if conflict is None else (conflict.ours, conflict.theirs)


def _other_side(history: History, sides: Sides, project: Path, own: str) -> str | None:
    """Return the side of a merge on which another project is the present one; ours if both have."""
    for commit in (sides.ours, sides.theirs):
        identity = _identity(history.had(commit, project / STATE) or b"", STATE)
        if identity not in (own, None):
            return commit
    return None


def _lie_elsewhere(tree: Tree, folder: Path, own: str) -> bool:
    """Whether each other project that its state speaks of has a place of its own."""
    names = (OWN_NAME.search(each.folder.name) for each in tree.archives if each.folder != folder)
    places = {name["beginning"] for name in names if name is not None}
    present = _present(tree)
    text = _text(folder / STATE)
    others = {_identity(side, STATE) for side in _sides_in(text)} - {own}
    return all(each is not None and (each == present or each[:8] in places) for each in others)


def _identity(text: bytes, name: str) -> str | None:
    """Return what tells a project or task from others; None where it cannot be read."""
    try:
        if name == STATE:
            return parse_state(text, ProjectState, path=Path(name)).project.id
        task = parse_state(text, TaskState, path=Path(name)).task
    except (InvalidState, NewerState):
        return None
    return f"{task.created_at} {task.name}"


def _text(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def mixed_defects(mixed: Sequence[Mixed]) -> Iterator[Defect]:
    """Yield what is to be told of them."""
    for each in mixed:
        what = "git has mixed files of another project into this ended one"
        yield Defect(kind=Kind.MIXED, path=each.folder / STATE, what=what, is_mended=each.is_known)


def meeting(workspace: Workspace, history: History) -> Defect | None:
    """Return what is to be told where two projects meet in `.sow/project`; only people choose."""
    path = workspace.project_state
    conflict, sides = conflict_in(_text(path)), history.under_way
    texts: tuple[bytes, ...]
    if conflict is not None:
        texts = (conflict.ours, conflict.theirs)
    elif sides is not None and any(each.is_relative_to(path.parent) for each in history.unmerged):
        texts = tuple(history.had(each, path) or b"" for each in (sides.ours, sides.theirs))
    else:
        return None
    try:
        mine, its = (parse_state(text, ProjectState, path=path).project for text in texts)
    except (InvalidState, NewerState):
        return None
    if mine.id == its.id:
        return None
    return Defect(
        kind=Kind.CONFLICT,
        path=path,
        line=None if conflict is None else conflict.line,
        what=f"there are two projects, {mine.name!r} (ours) and {its.name!r} (theirs), but a branch"
        " can have only one",
        remedy=_choice(history, workspace),
    )


def _choice(history: History, workspace: Workspace) -> str:
    sides = history.merge_of(lambda _: True, workspace.project_state)
    if sides is None or sides.ours is None:
        return "Keep the whole folder .sow/project of one of them."
    ours = "HEAD" if history.under_way is not None else sides.ours[:12]
    command = "git restore --source={} --staged --worktree .sow/project"
    return (
        f"Keep the whole folder of one. Ours: `{command.format(ours)}`;"
        f" theirs: `{command.format(sides.theirs[:12])}`"
    )
