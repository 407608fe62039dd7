"""Where a task lies, found by its id alone.

Owns the search through the phases' folders. Reads no file, and imports
neither YAML nor a schema: `sow agent log` finds its task with this.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from sow.errors import StateError
from sow.files import holds_a_lock, unreadable
from sow.ids import PhaseName, TaskId, parse_task_id
from sow.paths import PHASES, TASKS, Workspace, path_at
from sow.state.kept.guard import look_for_project, look_for_task, look_for_tasks
from sow.state.state_errors import NoProject, UnknownTask
from sow.unchanged_files import unchanged

DESCRIPTION_LIMIT = 1 << 20
"""The largest description that is read, in bytes."""


class TaskPlace(NamedTuple):
    """The folder of one task and the files in it."""

    phase: PhaseName
    at: str
    """The folder, as a text: a project may have a thousand tasks, and a `Path` takes long."""

    @property
    def folder(self) -> Path:
        """The folder."""
        return path_at(self.at)

    @property
    def task_id(self) -> TaskId:
        """The task's id, which is its folder's name."""
        return TaskId(self.at.rpartition("/")[2])

    @property
    def state(self) -> Path:
        """The task's `state.yaml`."""
        return path_at(f"{self.at}/state.yaml")

    @property
    def description(self) -> Path:
        """What is to be done."""
        return self.folder / "description.md"

    @property
    def log(self) -> Path:
        """What has been done, entry by entry."""
        return path_at(f"{self.at}/log.md")

    @property
    def feedback(self) -> Path:
        """The folder of the corrections asked for."""
        return self.folder / "feedback"


def find_task(workspace: Workspace, task_id: str) -> TaskPlace:
    """Return where the task lies.

    Raises StateError for an id that is none or that two phases hold, NoProject
    and UnknownTask (with the nearest ids).
    """
    wanted = parse_task_id(task_id)
    found = _find(workspace, wanted)
    if not found and look_for_task(workspace.root, wanted):
        found = _find(workspace, wanted)
    if not found:
        raise UnknownTask(wanted, [place.task_id for place in all_places(workspace)])
    if len(found) > 1:
        raise StateError(
            f"two phases have a task {wanted}: {', '.join(place.phase for place in found)}",
            hint="Task ids must be unique in a project. `sow validate` shows how to fix this.",
        )
    return found[0]


def _find(workspace: Workspace, wanted: TaskId) -> list[TaskPlace]:
    return [
        TaskPlace(phase, str(folder))
        for phase in _phases(workspace)
        if holds_files(folder := workspace.task(phase, wanted))
    ]


def all_places(workspace: Workspace) -> list[TaskPlace]:
    """Return every task's place, by id. Raises NoProject."""
    places = _all(workspace)
    if look_for_tasks(workspace.root, {place.task_id for place in places}):
        places = _all(workspace)
    return sorted(places, key=_by_id)


def _all(workspace: Workspace) -> list[TaskPlace]:
    return _places_of(workspace.phases, _phases(workspace))


def archived_places(archive: Path) -> list[TaskPlace]:
    """Return every task's place in the folder of a project that has ended, by id."""
    phases = archive / PHASES
    names = [PhaseName(entry.name) for entry in _entries(phases)]
    return sorted(_places_of(phases, names), key=_by_id)


def _places_of(phases: Path, names: Iterable[PhaseName]) -> list[TaskPlace]:
    return [
        TaskPlace(phase, entry.path)
        for phase in names
        for entry in _entries(phases / phase / TASKS)
        if entry.name.isdecimal() and len(entry.name) >= 3 and holds_files(entry.path)
    ]


def _by_id(place: TaskPlace) -> tuple[int, str]:
    return int(place.task_id), place.task_id


def has_project(workspace: Workspace) -> bool:
    """Whether the branch has a project: empty folders, as git leaves them, are none."""
    if os.path.isfile(workspace.project_state):  # noqa: PTH113 - it never raises
        return True
    look_for_project(workspace.root)
    return holds_files(workspace.project)


def holds_files(folder: str | Path) -> bool:
    """Whether a folder of ours holds its state, or any other file anywhere below it.

    Where nobody may look it is taken to: whoever reads it is told why that cannot be.
    """
    return not is_missing(f"{folder}/state.yaml") or first_file(folder) is not None


def is_missing(path: str | Path) -> bool:
    """Whether nothing lies at a path; False where that cannot be told."""
    try:
        os.stat(path)  # noqa: PTH116 - asked of every task
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def first_file(folder: str | Path) -> str | None:
    """Return a file anywhere below a folder, relative to it; None where all is empty."""
    for path, _, files in os.walk(folder):
        if files:
            return os.path.relpath(f"{path}/{min(files)}", folder)
    return None


def _phases(workspace: Workspace) -> list[PhaseName]:
    if os.path.lexists(workspace.import_journal) and not holds_a_lock():
        # Only what an import has left, or is about to write, needs what writes tasks.
        from sow.state.bulk.journal import see_to_import

        see_to_import(workspace)
    if not has_project(workspace):
        raise NoProject(workspace.project)
    return unchanged(lambda: _names_in(workspace.phases), str(workspace.phases))


def _names_in(phases: Path) -> list[PhaseName]:
    return sorted(PhaseName(entry.name) for entry in _entries(phases))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if entry.is_dir() and entry.name[0] != "."]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise unreadable(folder, error) from error
