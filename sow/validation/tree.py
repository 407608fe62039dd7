"""The tree of `.sow` as it was read: projects, tasks, and what was wrong with single files.

Plain values. Who reads them is `reading`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Generic, TypeVar

from msgspec import Struct

from sow.paths import Workspace
from sow.schema.project import Project
from sow.schema.task import Task
from sow.validation.kinds import Defect, Kind
from sow.yamlfile import YamlProblem, problem_in

T = TypeVar("T")


class StateFile(Struct, Generic[T], frozen=True):
    """A state file that can be read."""

    path: Path
    text: bytes
    content: T

    def line(self, *keys: str | int) -> int | None:
        """Return the line of what stands at some keys, or of the nearest above it."""
        try:
            return problem_in(self.text, keys, "", path=self.path).line
        except YamlProblem:
            return None

    def defect(
        self, kind: Kind, *keys: str | int, what: str, remedy: str = "", is_mended: bool = False
    ) -> Defect:
        """Return a defect of what stands at some keys."""
        line = self.line(*keys)
        return Defect(
            kind=kind, path=self.path, line=line, what=what, remedy=remedy, is_mended=is_mended
        )


class TaskFolder(Struct, frozen=True):
    """A folder that bears a task's id."""

    folder: Path
    phase: str
    id: str
    state: StateFile[Task] | None
    """None where it cannot be read."""
    feedback: Sequence[str] = ()
    """The names of its feedback files."""


class ProjectTree(Struct, frozen=True):
    """The folder of a project: the present one, or one of the archive."""

    folder: Path
    state: StateFile[Project] | None = None
    feedback: Sequence[str] = ()
    tasks: Sequence[TaskFolder] = ()


class Tree(Struct, frozen=True):
    """All of `.sow` but this machine's `run`."""

    workspace: Workspace
    project: ProjectTree | None
    """None where the branch has no project."""
    archives: Sequence[ProjectTree]
    defects: Sequence[Defect]
    """What is wrong with single files."""
