"""The published work units of a breakdown, read back to become a project's first tasks.

Owns what is taken from their files, and that they fit together. How such a file
is written is `state.units`; people may have edited it since.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from sow.errors import StateError
from sow.files import NotAFile, read_regular
from sow.ids import TaskId, parse_phase
from sow.lifecycle.circles import behind_circles
from sow.paths import Workspace
from sow.schema.task import AgentText, TaskIdText
from sow.state import task_folder
from sow.state.artifacts import LARGEST
from sow.state.log_writing import FENCE
from sow.state.units import ISSUE, UNIT_FILE
from sow.yamlfile import YamlProblem, read_yaml

Files = Mapping[str, bytes]
"""The files of a new task, by their names."""


class Unit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What stands between the fences of a unit's file."""

    unit: TaskIdText
    name: Annotated[str, Meta(min_length=1)]
    agent: AgentText
    depends_on: list[TaskIdText] = []
    issue: str = ""
    """The address of its issue, where it was published as one."""


class PublishedUnit(msgspec.Struct, frozen=True):
    """A unit, and what its file says besides."""

    unit: Unit
    description: str
    path: str
    """From the workspace's root."""
    dropped: tuple[str, ...] = ()
    """What it depended on that is no unit any more."""

    is_outside: bool = False
    """Whether it lies outside of the workspace; its path is a whole one then."""

    @property
    def depends_on(self) -> list[str]:
        """The units that come first."""
        return [other for other in self.unit.depends_on if other not in self.dropped]


class NoBreakdown(StateError):
    """No published units lie where they were said to."""

    def __init__(self, name: str, there: Sequence[str]) -> None:
        known = f"There is: {', '.join(there)}. " if there else ""
        super().__init__(
            f"there are no published work units named {name}",
            hint=f"{known}`sow project publish`, in a project of the type breakdown, writes them"
            " into .sow/knowledge/breakdown/.",
        )


class BadUnit(StateError):
    """A unit's file cannot be used."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path}: {why}", hint="Correct the file, then run the command again.")


def read_units(workspace: Workspace, cwd: Path, name: str) -> list[PublishedUnit]:
    """Return the units in a folder, by ids; it is named by its path or its name.

    Raises NoBreakdown, BadUnit.
    """
    above = workspace.breakdowns
    folder = next((each for each in (above / name, cwd / name) if each.is_dir()), None)
    there = sorted(each.name for each in above.iterdir()) if above.is_dir() else []
    if folder is None or "\0" in name:
        raise NoBreakdown(name, there)
    files = sorted(path for path in folder.iterdir() if UNIT_FILE.fullmatch(path.name))
    if not files:
        raise NoBreakdown(name, there)
    return _fitting([_read(workspace, path) for path in files])


def _read(workspace: Workspace, path: Path) -> PublishedUnit:
    root = workspace.root
    is_outside = not path.is_relative_to(root)
    shown = str(path) if is_outside else path.relative_to(root).as_posix()
    try:
        text = read_regular(path, LARGEST).decode("utf-8")
    except (NotAFile, OSError, UnicodeDecodeError) as error:
        raise BadUnit(shown, f"it cannot be read: {error}") from error
    parts = text.split(f"{FENCE}\n", 2)
    if len(parts) < 3 or parts[0]:
        raise BadUnit(shown, f"it does not start with its keys between two lines of {FENCE}")
    try:
        unit = read_yaml(parts[1].encode(), Unit, path=path)
    except YamlProblem as problem:
        raise BadUnit(shown, problem.reason) from problem
    return PublishedUnit(unit, parts[2].lstrip("\n"), shown, is_outside=is_outside)


def _fitting(units: Sequence[PublishedUnit]) -> list[PublishedUnit]:
    """Return the units, without dependencies on what is none. Raises BadUnit."""
    by_id: dict[str, PublishedUnit] = {}
    for found in units:
        if found.unit.unit in by_id:
            other = by_id[found.unit.unit].path
            raise BadUnit(found.path, f"{other} has the same number, {found.unit.unit}")
        by_id[found.unit.unit] = found
    circles = behind_circles({number: found.unit.depends_on for number, found in by_id.items()})
    if circles:
        first = by_id[min(circles)]
        raise BadUnit(first.path, f"unit {first.unit.unit} depends on itself through other units")
    return [
        replace(
            found, dropped=tuple(other for other in found.unit.depends_on if other not in by_id)
        )
        for found in by_id.values()
    ]


def first_tasks(units: Sequence[PublishedUnit], phase: str, *, now: float) -> dict[TaskId, Files]:
    """Return the files of the tasks that units become, by their ids. Raises RefusedChange."""
    return {
        TaskId(found.unit.unit): task_folder.first_files(
            Path(found.path),
            task_id=TaskId(found.unit.unit),
            phase=parse_phase(phase),
            name=found.unit.name,
            agent=found.unit.agent,
            now=now,
            description=found.description,
            depends_on=found.depends_on,
            metadata={ISSUE: found.unit.issue} if found.unit.issue else None,
        )
        for found in units
    }
