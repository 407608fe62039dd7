"""Two tasks of one id become two tasks: ours keeps it, theirs gets the next free one.

Owns the order, in which a kill may come at any place: theirs is made whole
under its new id first, then what depends on it follows, and what made the pair
known goes last. Done again, it finds what was made before by the id on record.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path

from msgspec import UNSET

from sow.errors import StateError
from sow.files import NotAFile, locked_once, read_regular, remove_file, write_atomically
from sow.ids import TaskId
from sow.paths import Workspace
from sow.schema.project import Project, ProjectState
from sow.schema.task import Task, TaskState
from sow.state import task_folder, units
from sow.state.artifacts import LARGEST
from sow.state.authors import SOW
from sow.state.kept.copies import forget, wrote
from sow.state.kept.store import kept_for
from sow.state.lifecycle import unit_content_at
from sow.state.log_writing import format_entry
from sow.state.projects import change_project
from sow.state.statefiles import parse_state, read_bytes, read_state, rewrite_state, rewritten
from sow.state.status_entries import STATE, change_entry, log_change
from sow.state.status_notes import note_status
from sow.state.tasks import ID_STEP, next_id, read_task
from sow.state.transitions import moment
from sow.state.used_ids import ids_with_clones
from sow.validation.examination import Examined
from sow.validation.pair_files import Division, divide
from sow.validation.same_ids import FORMER_ID, Pair, meant_by
from sow.validation.tree import ProjectTree, TaskFolder

Told = tuple[Path, str]


def renumber_units(
    workspace: Workspace, pairs: Sequence[Pair], ids: Mapping[str, TaskId], *, now: float
) -> Iterator[tuple[Path, str]]:
    """Have approvals and published files of theirs follow; yield what was done."""
    project = read_state(workspace.project_state, ProjectState).project
    approved = () if project.units is UNSET else project.units
    for pair in pairs:
        for unit in approved:
            if unit.id == pair.id and unit.content == _content(workspace, pair, ids):
                _approve_anew(workspace, pair, ids, now)
                yield (
                    workspace.project_state,
                    f"the approval of {pair.id} now belongs to {ids[pair.id]}",
                )
        yield from _published(workspace, project, pair, ids)


def _content(workspace: Workspace, pair: Pair, ids: Mapping[str, TaskId]) -> str:
    """Return what told theirs from other units before it got its new id."""
    description = pair.their_folder.with_name(ids[pair.id]) / "description.md"
    return unit_content_at(workspace, pair.theirs, description)


def _approve_anew(workspace: Workspace, pair: Pair, ids: Mapping[str, TaskId], now: float) -> None:
    """Write the approval of theirs under its new id."""
    task = read_task(workspace, ids[pair.id])
    description = pair.their_folder.with_name(ids[pair.id]) / "description.md"
    content = unit_content_at(workspace, task, description)

    def change(project: Project) -> Mapping[str, object]:
        there = [] if project.units is UNSET else project.units
        rows: list[object] = []
        for unit in there:
            fields = {name: getattr(unit, name) for name in unit.__struct_fields__}
            is_theirs = unit.id == pair.id and unit.content == _content(workspace, pair, ids)
            rows.append({**fields, "id": task.id, "content": content} if is_theirs else fields)
        return {"units": rows}

    change_project(workspace, change, now=now)


def _published(
    workspace: Workspace, project: Project, pair: Pair, ids: Mapping[str, TaskId]
) -> Iterator[tuple[Path, str]]:
    """Write their published file anew, where there was one that is not ours."""
    old, mine = units.path_of(project, pair.theirs), units.path_of(project, pair.ours)
    path = workspace.root / old
    if old == mine or not path.is_file() or path.is_symlink():
        return
    try:
        before = read_regular(path, LARGEST)
    except NotAFile:
        return
    task = read_task(workspace, ids[pair.id])
    (new,) = units.publish(workspace, project, [task])
    if before.partition(b"\n---\n")[2] == units.text_of(workspace, task).partition(b"\n---\n")[2]:
        remove_file(path)
    yield workspace.root / new, f"{old} is published under its new id"


class NotYet(StateError):
    """A pair waits for other files to be readable: they may refer to one of the two."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} cannot be read, and may refer to the task",
            hint="Fix that file first, then run `sow validate --fix` again.",
        )


def renumber_pairs(found: Examined, _: str, *, now: float) -> Iterator[Told]:
    """Renumber theirs of all pairs; yield what was done. The project's lock is held.

    Raises NotYet, StateLocked, NotWritten, with nothing lost.
    """
    tree, workspace = found.tree.project, found.tree.workspace
    pairs = [pair for pair in found.pairs if _is_still_so(pair)]
    if tree is None or not pairs:
        return
    _refuse_unreadable(tree, pairs)
    ids = _new_ids(tree, pairs)
    with ExitStack() as stack:
        for path in sorted({path for pair in pairs for path in _folders(pair)}):
            stack.enter_context(locked_once(path))
        divisions = {pair.id: divide(pair, found.history) for pair in pairs}
        for pair in pairs:
            yield from _make_theirs(workspace, found, pair, divisions[pair.id], ids, now)
        for folder in tree.tasks:
            yield from _point_to_new(workspace, found, folder, pairs, ids, now)
        yield from renumber_units(workspace, pairs, ids, now=now)
        for pair in pairs:
            yield from _leave_ours(workspace, pair, divisions[pair.id], ids, now)


def _folders(pair: Pair) -> tuple[Path, Path]:
    return pair.our_folder, pair.their_folder


def _is_still_so(pair: Pair) -> bool:
    """Whether the files that make a pair are as they were seen."""
    try:
        theirs = read_bytes(pair.their_folder / task_folder.STATE)
        ours = read_bytes(pair.our_folder / task_folder.STATE)
    except StateError:
        return False
    if pair.is_in_conflict:
        return b"<<<<<<<" in ours
    return (ours, theirs) == (pair.our_text, pair.their_text)


def _refuse_unreadable(tree: ProjectTree, pairs: Sequence[Pair]) -> None:
    """Raise NotYet where a state may name one of the tasks and cannot be read."""
    ours = {pair.our_folder for pair in pairs}
    for folder in tree.tasks:
        if folder.state is None and folder.folder not in ours:
            raise NotYet(folder.folder / task_folder.STATE)
    if tree.state is None:
        raise NotYet(tree.folder / task_folder.STATE)


def _new_ids(tree: ProjectTree, pairs: Sequence[Pair]) -> dict[str, TaskId]:
    """Return by each id the one that theirs gets: the one of a kill's remains, else a free one."""
    used = ids_with_clones(Workspace(tree.folder.parents[1]))
    free = int(next_id({*used, *(folder.id for folder in tree.tasks)}))
    ids: dict[str, TaskId] = {}
    for pair in pairs:
        made = next((folder.id for folder in tree.tasks if _is_made_of(folder, pair)), None)
        ids[pair.id] = TaskId(made or f"{free:03d}")
        free += 0 if made else ID_STEP
    return ids


def _is_made_of(folder: TaskFolder, pair: Pair) -> bool:
    task = folder.state.content if folder.state is not None else None
    return (
        task is not None
        and task.metadata.get(FORMER_ID) == pair.id
        and (task.created_at, task.name) == (pair.theirs.created_at, pair.theirs.name)
    )


def _make_theirs(
    workspace: Workspace,
    found: Examined,
    pair: Pair,
    division: Division,
    ids: Mapping[str, TaskId],
    now: float,
) -> Iterator[Told]:
    """Make theirs whole under its new id, unless that was done before."""
    folder = pair.their_folder.with_name(ids[pair.id])
    if folder.is_dir():
        return
    state = folder / task_folder.STATE
    depends_on = [ids.get(other, other) for other in pair.theirs.depends_on]
    changes: dict[tuple[str, ...], object] = {
        ("task", "id"): ids[pair.id],
        ("task", "depends_on"): depends_on,
        ("task", "metadata", FORMER_ID): pair.id,
        ("task", "updated_at"): moment(now),
    }
    if depends_on == pair.theirs.depends_on:
        del changes["task", "depends_on"]
    text, task = rewritten(state, pair.their_text, changes, TaskState)
    log = _with_entry(division.theirs.get(task_folder.LOG, b""), _words_of(pair, found), now)
    files = {**division.theirs, task_folder.STATE: text, task_folder.LOG: log}
    task_folder.build(folder, files)
    note_status(workspace, state, task.task, now=now)
    yield state, f"it was {pair.id} on their side ({pair.theirs.name!r})"


def _words_of(pair: Pair, found: Examined) -> str:
    where = f" on {found.history.name_of(pair.sides.theirs)}" if pair.sides is not None else ""
    words = f"Renumbered: this task was {pair.id}{where}, and so was another one"
    clone = getattr(pair.theirs.clone, "branch", "")
    return f"{words}. The branch of its clone is {clone}" if clone else words


def _with_entry(log: bytes, words: str, now: float) -> bytes:
    """Return a log that tells of it: the entry comes with the task, whoever is killed then."""
    gap = b"" if not log else b"\n" if log.endswith(b"\n") else b"\n\n"
    return log + gap + format_entry(change_entry(words, STATE, SOW, now=now)).encode()


def _point_to_new(
    workspace: Workspace,
    found: Examined,
    folder: TaskFolder,
    pairs: Sequence[Pair],
    ids: Mapping[str, TaskId],
    now: float,
) -> Iterator[Told]:
    """Have a task depend on theirs under its new id, where it was theirs that it meant."""
    involved = {path for pair in pairs for path in _folders(pair)}
    if folder.state is None or folder.folder in involved:
        return
    meant = {
        pair.id: meant_by(pair, folder, found.history)
        for pair in pairs
        if pair.id in folder.state.content.depends_on
    }
    if not any("theirs" in whose for whose in meant.values()):
        return
    path = folder.folder / task_folder.STATE
    with locked_once(folder.folder):
        text = read_bytes(path)
        task = parse_state(text, TaskState, path=path).task
        depends_on = _followed(task, meant, ids)
        if depends_on == task.depends_on:
            return
        changes: dict[tuple[str, ...], object] = {
            ("task", "depends_on"): depends_on,
            ("task", "updated_at"): moment(now),
        }
        note_status(workspace, path, rewrite_state(path, text, changes, TaskState).task, now=now)
    yield path, f"it depends on {', '.join(depends_on)} now, not on {', '.join(task.depends_on)}"


def _followed(
    task: Task, meant: Mapping[str, frozenset[str]], ids: Mapping[str, TaskId]
) -> list[str]:
    """Return what a task depends on, by the new ids where theirs was meant."""
    followed: list[str] = []
    for other in task.depends_on:
        whose = meant.get(other, frozenset({"ours"}))
        followed += [other] if "ours" in whose else []
        followed += [ids[other]] if "theirs" in whose else []
    return list(dict.fromkeys(followed))


def _leave_ours(
    workspace: Workspace, pair: Pair, division: Division, ids: Mapping[str, TaskId], now: float
) -> Iterator[Told]:
    """Leave in the folder of the id what is ours, or take theirs away where it had its own."""
    words = f"Task {pair.id} of theirs, {pair.theirs.name!r}, is task {ids[pair.id]} now"
    # Before what made the pair known goes; entries of one id are read as one.
    number = sha256(f"{pair.id} {ids[pair.id]} {pair.theirs.created_at}".encode()).hexdigest()[:12]
    log_change(workspace.project, words, STATE, SOW, now=now, entry_id=number)
    if not pair.is_in_conflict:
        task_folder.take_away(pair.their_folder)
        yield pair.their_folder, f"theirs is moved to {ids[pair.id]}, ours keeps {pair.id}"
        return
    kept = kept_for(pair.our_folder / task_folder.STATE)
    for name in division.gone:
        path = pair.our_folder / name
        if kept is not None:
            forget(kept, kept.name(path))
        remove_file(path)
    for name, data in sorted(division.ours.items(), key=lambda item: item[0] == task_folder.STATE):
        path = pair.our_folder / name
        before = path.read_bytes() if path.is_file() else b""
        write_atomically(path, data)
        wrote(path, data, before=before)
    yield pair.our_folder / task_folder.STATE, f"ours keeps {pair.id}, theirs is {ids[pair.id]}"
