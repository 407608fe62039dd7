"""The files of the project and its tasks as the view shows them; what has changed is read again.

What cannot be read is told, and hides nothing else.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from sow.errors import SowError
from sow.ids import TaskId
from sow.paths import Workspace
from sow.schema.project import Project
from sow.schema.task import Task
from sow.state.places import all_places, has_project
from sow.state.projects import read_project
from sow.state.status_notes import version_of
from sow.state.tasks import read_task_at
from sow.state.waiting import Among
from sow.terminal_text import printable


class Files:
    """What the last reading has found."""

    def __init__(self, workspace: Workspace) -> None:
        self.project: Project | None = None
        self.among = Among(())
        self.faults: Sequence[str] = ()
        """What could not be read, a sentence each."""
        self._workspace = workspace
        self._version = ""
        self._tasks: dict[TaskId, tuple[str, Task]] = {}

    @property
    def tasks(self) -> Sequence[Task]:
        """The tasks that can be read, by id."""
        return list(self.among.tasks.values())

    def read(self) -> None:
        """Read what has changed. Raises nothing."""
        faults: list[str] = []
        try:
            self._read_project()
            if self.project is not None:
                faults += self._read_tasks()
            else:
                self._tasks = {}
        except (SowError, OSError) as error:
            faults.append(words_of(error))
        self.among = Among(task for _, task in self._tasks.values())
        self.faults = faults

    def _read_project(self) -> None:
        if not has_project(self._workspace):
            self.project = None
            return
        version = _version(self._workspace.project_state)
        if self.project is None or version != self._version or not version:
            self.project, self._version = read_project(self._workspace), version

    def _read_tasks(self) -> Iterator[str]:
        """Read the tasks whose file has changed; yield what is wrong with others."""
        found: dict[TaskId, tuple[str, Task]] = {}
        for place in all_places(self._workspace):
            version = _version(place.state)
            before = self._tasks.get(place.task_id)
            if before is not None and before[0] == version and version:
                found[place.task_id] = before
                continue
            try:
                found[place.task_id] = version, read_task_at(place)
            except (SowError, OSError) as error:
                yield words_of(error)
        self._tasks = found


def words_of(error: SowError | OSError) -> str:
    """Return what is wrong, on one line."""
    return printable(error.message if isinstance(error, SowError) else str(error))


def _version(path: Path) -> str:
    try:
        return version_of(path)
    except OSError:
        return ""
