"""What has one right answer, done: under the locks of all writers, and each thing told.

Owns which defect is mended how, and that it is done until nothing more is left
to do: a file that can be read again may show what nobody could see before.
Two tasks of one id are `renumbering`'s.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

import msgspec
from msgspec import UNSET, Struct

from sow.errors import SowError
from sow.files import (
    discard_tree,
    locked_once,
    make_folder,
    read_regular,
    remove_file,
    sync_folder,
    write_atomically,
)
from sow.ids import PhaseName
from sow.paths import Workspace
from sow.schema.project import ProjectState
from sow.schema.task import TaskState
from sow.state.artifacts import Side
from sow.state.bulk import journal
from sow.state.kept.copies import wrote
from sow.state.projects import add_phase
from sow.state.statefiles import parse_state, read_bytes, rewrite_state
from sow.state.version import VERSION_FILE, raise_version
from sow.state.workspace_init import ATTRIBUTES
from sow.validation.conflicts import TASK_FOLDER, solve
from sow.validation.examination import Examined, examine
from sow.validation.foundation import LARGEST, highest_number
from sow.validation.kinds import Defect, Kind
from sow.validation.log_entries import completed_at
from sow.validation.marks import conflict_in
from sow.validation.renumbering import renumber_pairs
from sow.yamlfile import Changes

MOST_ROUNDS = 20


class Mended(Struct, frozen=True):
    """One thing that was done."""

    path: Path
    what: str


class NotMended(Struct, frozen=True):
    """One thing that could not be done now, and why."""

    path: Path
    error: SowError


def mend(
    workspace: Workspace,
    user_config: Path,
    *,
    now: float,
    wanted: Callable[[Defect], bool] = lambda _: True,
) -> tuple[list[Mended], list[NotMended]]:
    """Mend whatever has one right answer and is `wanted`; return what was done, and what failed."""
    done: list[Mended] = []
    failed: list[NotMended] = []
    for _ in range(MOST_ROUNDS):
        found = examine(workspace, user_config)
        before = len(done)
        failed = []
        with _locks(workspace):
            for defect in found.defects:
                if defect.is_mended and wanted(defect):
                    try:
                        done += MENDERS[defect.kind](found, defect, now)
                    except (SowError, OSError) as error:
                        failed.append(NotMended(defect.path, _as_ours(error)))
        if len(done) == before:
            break
    return done, failed


def _as_ours(error: SowError | OSError) -> SowError:
    if isinstance(error, SowError):
        return error
    return SowError((error.strerror or str(error)).lower())


def _locks(workspace: Workspace) -> ExitStack:
    """Hold the project's lock, if there is a project. Raises StateLocked."""
    stack = ExitStack()
    if workspace.project.is_dir():
        stack.enter_context(locked_once(workspace.project))
    return stack


def _solve(found: Examined, defect: Defect, _: float) -> Iterator[Mended]:
    """Write the answer to a conflict, if the file still is in the one that was seen."""
    marked = next(each for each in found.marked if each.path == defect.path)
    with locked_once(defect.path.parent):
        if read_regular(defect.path, max(LARGEST, len(marked.text))) != marked.text:
            return
        solution = solve(marked, found.history)
        if solution.text is None:
            return
        _write(defect.path, solution.text, before=marked.text)
    yield Mended(defect.path, f"the conflict is solved: {solution.words}")


def _write(path: Path, text: bytes, *, before: bytes) -> None:
    """Write a file of ours, and its copy where one is kept."""
    write_atomically(path, text)
    wrote(path, text, before=before)


def _number(found: Examined, defect: Defect, _: float) -> Iterator[Mended]:
    if defect.path.name == VERSION_FILE:
        highest = highest_number(found.tree)
        raise_version(found.tree.workspace.project_state, highest)
        yield Mended(defect.path, f"it is {highest} now")
        return
    with locked_once(defect.path.parent):
        _rewrite(defect.path, {})
    yield Mended(defect.path, "it has its format number now")


def _rewrite(path: Path, changes: Changes) -> None:
    """Change a state file; its number is written where it needs one. The lock is held."""
    form = TaskState if TASK_FOLDER.search(path.parent.as_posix()) else ProjectState
    rewrite_state(path, read_bytes(path), changes, form)


def _listed_once(_: Examined, defect: Defect, __: float) -> Iterator[Mended]:
    """Take out of each list of a state file what stands there a second time, and is the same."""
    is_task = TASK_FOLDER.search(defect.path.parent.as_posix()) is not None
    with locked_once(defect.path.parent):
        text = read_bytes(defect.path)
        changes: dict[tuple[str, ...], object] = {}
        if is_task:
            task = parse_state(text, TaskState, path=defect.path).task
            for field in ("depends_on", "feedback"):
                changes |= _once(("task", field), getattr(task, field))
        else:
            project = parse_state(text, ProjectState, path=defect.path).project
            for field in (*(side.field for side in Side), "feedback", "units"):
                items = getattr(project, field)
                changes |= _once(("project", field), () if items is UNSET else items)
        if not changes:
            return
        _rewrite(defect.path, changes)
    fields = ", ".join(keys[-1] for keys in changes)
    yield Mended(defect.path, f"duplicate entries in {fields} are removed")


def _once(keys: tuple[str, ...], items: object) -> dict[tuple[str, ...], object]:
    assert isinstance(items, list | tuple)  # noqa: S101 - the schema says so
    once = [item for number, item in enumerate(items) if item not in items[:number]]
    if len(once) == len(items):
        return {}
    return {keys: [_data(item) for item in once]}


def _data(item: object) -> object:
    """Return an item of a list as a state file holds it."""
    if not isinstance(item, msgspec.Struct):
        return item
    fields = {name: getattr(item, name) for name in item.__struct_fields__}
    return {name: _data(value) for name, value in fields.items() if value is not UNSET}


def _phase(found: Examined, defect: Defect, now: float) -> Iterator[Mended]:
    add_phase(found.tree.workspace, PhaseName(defect.subject), now=now)
    yield Mended(defect.path, f"the phase {defect.subject} is listed now")


def _times(_: Examined, defect: Defect, __: float) -> Iterator[Mended]:
    folder = defect.path.parent
    with locked_once(folder):
        task = parse_state(read_bytes(defect.path), TaskState, path=defect.path).task
        at = completed_at(folder, task)
        if at is None or task.completed_at is not UNSET:
            return
        changes: dict[tuple[str, ...], object] = {("task", "completed_at"): at}
        _rewrite(defect.path, changes)
    yield Mended(defect.path, "completed_at is the time of the log's entry now")


def _leftover(_: Examined, defect: Defect, __: float) -> Iterator[Mended]:
    """Remove what an interrupted write has left; under its folder's lock nobody is writing it."""
    with locked_once(defect.path.parent):
        if defect.path.is_dir() and not defect.path.is_symlink():
            discard_tree(defect.path)
        else:
            remove_file(defect.path)
        sync_folder(defect.path.parent)
    if not defect.path.exists():
        yield Mended(defect.path, "it is removed")


def _import(found: Examined, defect: Defect, _: float) -> Iterator[Mended]:
    journal.complete(found.tree.workspace)
    if not defect.path.exists():
        yield Mended(defect.path, "the import is completed")


def _union(_: Examined, defect: Defect, __: float) -> Iterator[Mended]:
    with locked_once(defect.path.parent):
        before = b""
        with suppress(FileNotFoundError):
            before = read_regular(defect.path, LARGEST)
        if conflict_in(before) is not None:
            return
        gap = b"\n" if before and not before.endswith(b"\n") else b""
        _write(defect.path, before + gap + ATTRIBUTES.encode(), before=before)
    yield Mended(defect.path, "git merges logs by keeping both additions now")


def _same_id(found: Examined, defect: Defect, now: float) -> Iterator[Mended]:
    for path, words in renumber_pairs(found, defect.subject, now=now):
        yield Mended(path, words)


def _part(found: Examined, defect: Defect, _: float) -> Iterator[Mended]:
    """Give an ended project and the present one what each of them holds by right."""
    mixed = next(each for each in found.mixed if each.folder == defect.path.parent)
    project = found.tree.workspace.project
    for folder, files in ((project, mixed.present), (mixed.folder, mixed.right)):
        for name, text in files.items():
            _put(folder / name, text)
    if mixed.present:
        yield Mended(project, "the project that git mixed up is restored here")
    for name in mixed.present.keys() - mixed.right.keys():
        strayed = mixed.folder / name
        if _bytes_at(strayed) == mixed.present[name]:
            remove_file(strayed)
    yield Mended(mixed.folder, "it is restored to its state at its end")


def _put(path: Path, text: bytes) -> None:
    before = _bytes_at(path)
    if before != text:
        make_folder(path.parent)
        _write(path, text, before=before or b"")


def _bytes_at(path: Path) -> bytes | None:
    try:
        return read_regular(path, LARGEST)
    except FileNotFoundError:
        return None


MENDERS: Mapping[Kind, Callable[[Examined, Defect, float], Iterator[Mended]]] = {
    Kind.CONFLICT: _solve,
    Kind.NUMBER: _number,
    Kind.SAME_ID: _same_id,
    Kind.LISTED_TWICE: _listed_once,
    Kind.UNLISTED_PHASE: _phase,
    Kind.TIMES: _times,
    Kind.LEFTOVER: _leftover,
    Kind.UNFINISHED_IMPORT: _import,
    Kind.NO_UNION: _union,
    Kind.MIXED: _part,
}
