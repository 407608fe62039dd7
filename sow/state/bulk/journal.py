"""What an import is about to write, kept in one file until all of it is written.

Owns that file and its completion. Its rename into place is the moment in which
an import happens: before it nothing has changed, after it all will be. Whoever
looks for tasks and finds it waits for the importing command, or goes on where
that was killed; each step may be made again.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Literal

import msgspec

from sow.errors import SowError, StateError
from sow.files import (
    locked_folder,
    locked_once,
    read_regular,
    remove_file,
    sync_folder,
    write_atomically,
)
from sow.ids import PhaseName, TaskId
from sow.paths import Workspace
from sow.schema.project import ProjectState
from sow.schema.task import PhaseText, Task, TaskIdText, TaskState
from sow.state import task_folder
from sow.state.kept.copies import wrote
from sow.state.kept.store import project_id_at
from sow.state.statefiles import effective, parse_state, read_bytes, rewrite_state
from sow.state.status_notes import note_status, note_statuses
from sow.state.transitions import moment

LIMIT = 64 << 20


FileName = Literal["state.yaml", "description.md", "log.md"]
FieldName = Literal[
    "key", "name", "assigned_agent", "depends_on", "checks", "requires", "references", "priority"
]


class NewTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task to be added: its folder, whole.

    The file may come from a repository that somebody else has filled, so nothing in it names a
    place but below the tasks.
    """

    id: TaskIdText
    phase: PhaseText
    files: dict[FileName, str]


class ChangedTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task to be changed, which had not begun."""

    id: TaskIdText
    phase: PhaseText
    changes: dict[FieldName, str | int | list[Any]]
    """New values by the field's name."""
    description: str | None = None


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """All that one import writes."""

    project: str
    at: float
    phases: list[PhaseText]
    new: list[NewTask]
    changed: list[ChangedTask]


def begin(workspace: Workspace, journal: Journal) -> None:
    """Have the import happen: what is left to do is done by `complete`, whoever calls it.

    The caller holds the lock of the project, and of each task that changes. Raises NotWritten.
    """
    write_atomically(workspace.import_journal, msgspec.json.encode(journal))


def see_to_import(workspace: Workspace) -> None:
    """Complete an import that was begun, or wait for whoever is at it; raises nothing.

    Not within a lock of ours: who imports may wait for that one.
    """
    with suppress(SowError, OSError), locked_folder(workspace.project):
        complete(workspace)


def complete(workspace: Workspace) -> None:
    """Write all that the file holds and is not written yet, then remove it.

    The caller holds the project's lock. One of another project is left alone. Raises SowError.
    """
    path = workspace.import_journal
    try:
        journal = msgspec.json.decode(read_regular(path, LIMIT), type=Journal)
    except FileNotFoundError:
        return
    except (msgspec.MsgspecError, RecursionError) as error:
        raise StateError(
            f"{path} is not an import record of sow: {error}",
            hint="Remove the file, then run `sow task import` again with the file that you"
            " imported.",
        ) from error
    if journal.project != project_id_at(workspace.root):
        return
    _add(workspace, journal.new, now=journal.at)
    for changed in journal.changed:
        _change(workspace, changed, now=journal.at)
    _add_phases(workspace, journal)
    remove_file(path)
    sync_folder(path.parent)


def _add(workspace: Workspace, tasks: Sequence[NewTask], *, now: float) -> None:
    """Add the tasks that are not there yet: a folder comes whole."""
    missing: dict[Path, dict[str, bytes]] = {}
    for new in tasks:
        folder = workspace.task(PhaseName(new.phase), TaskId(new.id))
        if not (folder / task_folder.STATE).exists():
            missing[folder] = {name: text.encode() for name, text in new.files.items()}
    if missing:
        task_folder.build_all(missing)
    states = {
        folder / task_folder.STATE: files[task_folder.STATE] for folder, files in missing.items()
    }
    written = (
        (path, parse_state(text, TaskState, path=path).task) for path, text in states.items()
    )
    note_statuses(workspace, written, now=now)


def _change(workspace: Workspace, changed: ChangedTask, *, now: float) -> None:
    """Change a task, unless somebody began it in the moment in which the import was killed."""
    folder = workspace.task(PhaseName(changed.phase), TaskId(changed.id))
    state, description = folder / task_folder.STATE, folder / task_folder.DESCRIPTION
    if not folder.is_dir():
        return  # somebody has removed it since
    with locked_once(folder):
        text = read_bytes(state)
        task = parse_state(text, TaskState, path=state).task
        if task.has_begun:
            return
        if changed.description is not None:
            data = changed.description.encode()
            write_atomically(description, data)
            wrote(description, data)
        changes = {str(name): value for name, value in changed.changes.items()}
        _rewrite(workspace, state, text, task, changes, now=now)


def _rewrite(
    workspace: Workspace,
    state: Path,
    text: bytes,
    task: Task,
    changes: Mapping[str, object],
    *,
    now: float,
) -> None:
    new = effective(task, changes, key="task")
    if new:
        new[("task", "updated_at")] = moment(now)
        note_status(workspace, state, rewrite_state(state, text, new, TaskState).task, now=now)


def _add_phases(workspace: Workspace, journal: Journal) -> None:
    path = workspace.project_state
    text = read_bytes(path)
    project = parse_state(text, ProjectState, path=path).project
    phases = list(dict.fromkeys([*project.phases, *journal.phases]))
    changes = effective(project, {"phases": phases}, key="project")
    if changes:
        changes[("project", "updated_at")] = moment(journal.at)
        rewrite_state(path, text, changes, ProjectState)


def lock_tasks(stack: ExitStack, folders: list[Path]) -> None:
    """Hold the locks of some tasks' folders for as long as `stack` lasts. Raises StateLocked."""
    for folder in sorted(folders):
        stack.enter_context(locked_folder(folder))
