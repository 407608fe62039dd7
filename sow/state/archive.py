"""The projects that have ended, as they lie in the archive. Reads only."""

import re
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from msgspec import UNSET

from sow.errors import SowError
from sow.paths import Workspace
from sow.schema.project import Project, ProjectState
from sow.state.statefiles import parse_state, read_bytes

DAY = len("2026-01-31")
OWN_NAME = re.compile(r"-(?P<beginning>[0-9a-f]{8})$")
"""How the folder of an ended project is called at its end: by the beginning of its id."""


class Archived(NamedTuple):
    """A project that has ended, and where it lies."""

    project: Project
    folder: Path


def archived_folders(workspace: Workspace) -> list[Path]:
    """Return the folders of the projects that have ended, oldest day first."""
    return sorted(workspace.archive.iterdir()) if workspace.archive.is_dir() else []


def read_archived(folder: Path) -> Project:
    """Return the project in a folder of the archive. Raises what reading a state file does."""
    path = folder / "state.yaml"
    return parse_state(read_bytes(path), ProjectState, path=path).project


def ended_ids(workspace: Workspace) -> set[str]:
    """Return how the ids of the projects in the archive begin, told by the folders' names."""
    names = (OWN_NAME.search(folder.name) for folder in archived_folders(workspace))
    return {name["beginning"] for name in names if name is not None}


def is_of_another(folder: Path, project: Project) -> bool:
    """Whether git has put another project's state into a folder of the archive."""
    name = OWN_NAME.search(folder.name)
    return name is not None and project.id[:8] != name["beginning"]


def mixed_folder(workspace: Workspace) -> Path | None:
    """Return an ended project into whose folder git has put another one's state; None without."""
    for folder in archived_folders(workspace):
        name = OWN_NAME.search(folder.name)
        try:
            # Its id lies in its state: few are worth being parsed.
            if name is None or name["beginning"].encode() in read_bytes(folder / "state.yaml"):
                continue
            if is_of_another(folder, read_archived(folder)):
                return folder
        except SowError:
            continue
    return None


def last_ended(workspace: Workspace, branch: str | None) -> Archived | None:
    """Return the project that was the last to end on a branch; one that cannot be read is none."""
    return _newest_ended(workspace, lambda project: _branch_of(project) == branch)


def last_ended_anywhere(workspace: Workspace) -> Archived | None:
    """Return the project that was the last to end, on whatever branch."""
    return _newest_ended(workspace, lambda _: True)


def _newest_ended(workspace: Workspace, is_meant: Callable[[Project], bool]) -> Archived | None:
    newest_first = reversed(archived_folders(workspace))
    for _, folders in groupby(newest_first, key=lambda folder: folder.name[:DAY]):
        ended = [archived for folder in folders if (archived := _ended_in(folder))]
        found = [archived for archived in ended if is_meant(archived.project)]
        if found:
            return max(found, key=_ended_at)
    return None


def _ended_in(folder: Path) -> Archived | None:
    try:
        project = read_archived(folder)
    except SowError:
        return None
    is_whole = _has_end(project) and not is_of_another(folder, project)
    return Archived(project, folder) if is_whole else None


def _branch_of(project: Project) -> str | None:
    return None if project.branch is UNSET else project.branch


def _has_end(project: Project) -> bool:
    return project.ending is not UNSET


def _ended_at(archived: Archived) -> float:
    ending = archived.project.ending
    return 0.0 if ending is UNSET else ending.at.timestamp()
