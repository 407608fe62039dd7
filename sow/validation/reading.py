"""The tree of `.sow` as it lies on the disk, read without changing any of it.

Owns what is read, under which locks, and what is wrong with single files: other
commands would put back what git took, or complete an import, before they read.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TypeVar

from sow.files import (
    FolderMissing,
    NotAFile,
    NotWritten,
    locked_once,
    read_regular,
    refuse_link_out,
)
from sow.ids import SLUG_PATTERN, TASK_ID_PATTERN
from sow.paths import Workspace
from sow.schema.project import Project, ProjectState
from sow.schema.task import Task, TaskState
from sow.state import version
from sow.state.numbered_feedback import NUMBERED
from sow.state.places import first_file, holds_files
from sow.state.state_errors import InvalidState, NewerState
from sow.state.statefiles import STATE_LIMIT, parse_state
from sow.state.version import file_version, needed_version, version_line
from sow.validation.kinds import Defect, Kind
from sow.validation.marks import conflict_in
from sow.validation.tree import ProjectTree, StateFile, TaskFolder, Tree
from sow.yamlfile import problem_in

DRAFT_FILE = re.compile(r"\..+\.[0-9]+-[0-9a-f]{12}\.tmp")
"""A file that was to be renamed into place (`write_atomically`)."""
DRAFT_FOLDER = re.compile(r"\.(?:[0-9]{3,}|project)\.[0-9a-f]{8,12}\.tmp")
"""A task or a project that was being made, or taken away."""
T = TypeVar("T")
STATE = "state.yaml"
NO_SUCH_STATE = " has no state "
"""In the words of `schema.project.Project`."""
HARMLESS = (".gitkeep", ".gitignore", ".DS_Store")
"""What lies in folders for other programs."""
Hold = Callable[[Path], AbstractContextManager[None]]
"""Given a folder, what to hold while it is read."""


def is_leftover(path: Path, is_folder: bool) -> bool:
    """Whether something bears the name of an interrupted write."""
    return (DRAFT_FOLDER if is_folder else DRAFT_FILE).fullmatch(path.name) is not None


def unheld(_: Path) -> AbstractContextManager[None]:
    """Hold nothing."""
    return nullcontext()


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, where there is one that can be locked. Raises StateLocked."""
    with ExitStack() as stack:
        with suppress(FolderMissing, NotWritten):  # nobody can write there either
            stack.enter_context(locked_once(folder))
        yield


def read_tree(workspace: Workspace, hold: Hold = unheld) -> Tree:
    """Read all there is. Raises StateLocked."""
    reader = _Reader(hold)
    with hold(workspace.sow):
        reader.look_for_leftovers(workspace.sow)
    project = None
    if holds_files(workspace.project):
        with hold(workspace.project):
            project = reader.project(workspace.project)
            reader.look_for_import(workspace.import_journal)
    archives = [
        ProjectTree(folder=tree.folder, state=tree.state, tasks=tree.tasks)
        for folder in reader.folders(workspace.archive)
        if holds_files(folder)
        for tree in [reader.project(folder)]
    ]
    return Tree(workspace, project, archives, tuple(reader.defects))


class _Reader:
    """Reads folders, and keeps what is wrong with them."""

    def __init__(self, hold: Hold) -> None:
        self.defects: list[Defect] = []
        self._hold = hold

    def project(self, folder: Path) -> ProjectTree:
        """Read the folder of a project."""
        self.look_for_leftovers(folder)
        return ProjectTree(
            folder=folder,
            state=self._project_state(folder / STATE),
            feedback=self._feedback(folder),
            tasks=[
                task
                for phase in self._phases(folder / "phases")
                for task in self._tasks(phase / "tasks", phase.name)
            ],
        )

    def _phases(self, phases: Path) -> Iterator[Path]:
        for folder in self._sorted(phases, SLUG_PATTERN):
            self._look_for_strays(folder, ("tasks",))
            yield folder

    def _tasks(self, tasks: Path, phase: str) -> Iterator[TaskFolder]:
        self.look_for_leftovers(tasks)
        for folder in filter(holds_files, self._sorted(tasks, TASK_ID_PATTERN)):
            with self._hold(folder):
                self.look_for_leftovers(folder)
                state = self._task_state(folder / STATE)
                yield TaskFolder(folder, phase, folder.name, state, self._feedback(folder))

    def _sorted(self, parent: Path, pattern: str) -> list[Path]:
        """Return the folders of a pattern; whatever else is there is a stray."""
        folders = self.folders(parent)
        fitting = [folder for folder in folders if re.fullmatch(pattern[1:-1], folder.name)]
        self._look_for_strays(parent, [folder.name for folder in fitting])
        return fitting

    def _look_for_strays(self, parent: Path, known: Sequence[str]) -> None:
        for entry in self._entries(parent):
            path = Path(entry.path)
            if entry.name in known or is_leftover(path, _is_folder(entry)):
                continue
            if _is_folder(entry) and first_file(path) is None:
                continue
            if entry.name in HARMLESS:
                continue
            what = f"{entry.name} is not a {'task' if parent.name == 'tasks' else 'phase'}"
            line = 1 if entry.is_file(follow_symlinks=False) else None
            self._keep(Kind.STRAY, path, line, what)

    def look_for_leftovers(self, folder: Path) -> None:
        """Keep what interrupted writes have left in a folder."""
        for entry in self._entries(folder):
            path = Path(entry.path)
            if is_leftover(path, entry.is_dir(follow_symlinks=False)):
                is_file = entry.is_file(follow_symlinks=False)
                what = f"an interrupted write has left {entry.name}"
                self._keep(Kind.LEFTOVER, path, 1 if is_file else None, what, is_mended=True)

    def look_for_import(self, path: Path) -> None:
        """Keep an import that was interrupted: one that goes on holds the project's lock."""
        if path.is_symlink() or path.exists():
            is_file = path.is_file()
            what = "an import of tasks was interrupted here"
            is_mended = is_file and not path.is_symlink()
            line = 1 if is_file else None
            self._keep(Kind.UNFINISHED_IMPORT, path, line, what, is_mended=is_mended)

    def _feedback(self, folder: Path) -> list[str]:
        self.look_for_leftovers(folder / "feedback")
        entries = self._entries(folder / "feedback")
        return sorted(entry.name for entry in entries if re.fullmatch(NUMBERED, entry.name))

    def folders(self, parent: Path) -> list[Path]:
        """Return the folders in a folder, in their order; none where it is none."""
        entries = self._entries(parent)
        return sorted(
            Path(entry.path) for entry in entries if entry.name[0] != "." and _is_folder(entry)
        )

    def _entries(self, folder: Path) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            self._unreadable(folder, (error.strerror or str(error)).lower())
            return []

    def _keep(
        self, kind: Kind, path: Path, line: int | None, what: str, *, is_mended: bool = False
    ) -> None:
        found = Defect(kind=kind, path=path, line=line, what=what, is_mended=is_mended)
        if found not in self.defects:
            self.defects.append(found)

    def _unreadable(self, path: Path, reason: str) -> None:
        self._keep(Kind.UNREADABLE, path, None, f"it cannot be read: {reason}")

    def _project_state(self, path: Path) -> StateFile[Project] | None:
        found = self._state(path, ProjectState)
        return None if found is None else StateFile(path, found.text, found.content.project)

    def _task_state(self, path: Path) -> StateFile[Task] | None:
        found = self._state(path, TaskState)
        return None if found is None else StateFile(path, found.text, found.content.task)

    def _state(self, path: Path, form: type[T]) -> StateFile[T] | None:
        """Read a state file; keep what is wrong with it. One with marks is told of elsewhere."""
        try:
            refuse_link_out(path)
            text = read_regular(path, STATE_LIMIT)
        except FileNotFoundError:
            rest = first_file(path.parent)
            what = f"{path.parent.name} holds files ({rest}), but no {STATE}"
            self._keep(Kind.NO_STATE, path.parent, None, what)
            return None
        except NotAFile as error:
            self._unreadable(path, error.reason)
            return None
        if conflict_in(text) is not None:
            return None
        try:
            content = parse_state(text, form, path=path)
        except NewerState as error:
            newest = version.SCHEMA_VERSION
            what = f"its format is {error.version}, but this sow reads only {newest} and older"
            line = version_line(text)[0]
            self._keep(Kind.NEWER, path, line, what)
            return None
        except InvalidState as error:
            self.defects.append(_invalid(text, error))
            return None
        found = StateFile(path, text, content)
        self._look_at_number(found)
        return found

    def _look_at_number(self, found: StateFile[T]) -> None:
        needed, says = needed_version(found.content), file_version(found.text)
        if needed > says:
            what = f"it has a field of format {needed}, but says {says}"
            line = version_line(found.text)[0]
            self._keep(Kind.NUMBER, found.path, line, what, is_mended=True)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a folder, or leads to one, as other commands take it."""
    try:
        return entry.is_dir()
    except OSError:  # a link that leads back to itself
        return False


def _invalid(text: bytes, error: InvalidState) -> Defect:
    """Return the defect of a state file that cannot be read."""
    line = error.line or 1
    if NO_SUCH_STATE not in error.reason:
        what = f"{error.key}: {error.reason}" if error.key else error.reason
        return Defect(kind=Kind.FORM, path=error.path, line=line, what=what)
    line = problem_in(text, ("project", "state"), "", path=error.path).line or line
    return Defect(kind=Kind.WRONG_STATE, path=error.path, line=line, what=error.reason)
