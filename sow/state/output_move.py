"""An output that moves to where it outlives the project.

Owns the order: the copy, the state, then the draft goes. Whoever is killed in between leaves
both files or a draft too many, and the same command again goes on.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path

from msgspec.structs import replace

from sow.errors import StateError
from sow.files import NotAFile, make_folder, read_regular, remove_file, write_new
from sow.paths import Workspace
from sow.schema.project import Artifact, Project
from sow.state.artifacts import LARGEST, NotListed, Side, is_contents, listed
from sow.state.authors import Author
from sow.state.log_writing import LogEntry
from sow.state.projects import change_project
from sow.state.status_entries import ARTIFACT, change_entry

Also = Callable[[Project, Path, Path], Mapping[str, object]]
"""Given the project, and where the file lies and will lie, returns what else changes with it."""


class NoPlace(StateError):
    """A folder in which no output outlives the project."""

    def __init__(self, folder: str, reason: str) -> None:
        super().__init__(
            f"outputs cannot be moved to {folder}: {reason}",
            hint="Give a folder of this repository, not below .sow/project, such as"
            " docs/design, with --to or with `artifacts` in .sow/config.yaml.",
        )


def nothing_else(_project: Project, _source: Path, _target: Path) -> Mapping[str, object]:
    """Change nothing else."""
    return {}


def move_output(
    workspace: Workspace,
    path: str,
    folder: str,
    *,
    by: Author,
    now: float,
    also: Also = nothing_else,
) -> Artifact:
    """Move a listed file into a folder of the repository, and list it there.

    Where another file has its name, it gets a number. What `also` returns is
    written with it. Raises NotListed, NoPlace, NotAFile, NotWritten.
    """
    root = Path(os.path.realpath(workspace.root))
    place = _place(root, folder)
    if (root / path).parent == place:
        return _of(change_project(workspace, lambda _: {}, now=now), path)
    inside = ""

    def change(project: Project) -> Mapping[str, object]:
        nonlocal inside
        _of(project, path)
        make_folder(place, root=root)
        target = _copied(root / path, place)
        inside = target.relative_to(root).as_posix()
        moved = [
            replace(artifact, path=inside) if artifact.path == path else artifact
            for artifact in listed(project, Side.OUTPUT)
        ]
        return {Side.OUTPUT.field: moved, **also(project, root / path, target)}

    def entries() -> list[LogEntry]:
        return [change_entry(f"Output moved: {path} to {inside}", ARTIFACT, by, now=now)]

    project = change_project(workspace, change, now=now, entries=entries)
    remove_file(root / path, root=root)
    return _of(project, inside)


def _place(root: Path, folder: str) -> Path:
    """Return a folder in which documents outlive the project, links followed. Raises NoPlace."""
    if "\0" in folder:
        raise NoPlace(repr(folder), "its name is not valid text")
    place = Path(os.path.realpath(root / folder))
    if not place.is_relative_to(root):
        raise NoPlace(folder, "it lies outside the repository")
    if not is_contents(root, place):
        raise NoPlace(folder, "it is not part of the repository's contents")
    if place.relative_to(root).parts[:2] == (".sow", "project"):
        raise NoPlace(folder, "it is deleted with the project, but outputs must be kept")
    if place.exists() and not place.is_dir():
        raise NoPlace(folder, "it is a file")
    return place


def _of(project: Project, path: str) -> Artifact:
    """Return an output. Raises NotListed."""
    there = listed(project, Side.OUTPUT)
    for artifact in there:
        if artifact.path == path:
            return artifact
    raise NotListed(Side.OUTPUT, path, there)


def _copied(source: Path, place: Path) -> Path:
    """Write a file's bytes into a folder, and return where: where they lie already, just that."""
    data = read_regular(source, LARGEST)
    for target in _names(place / source.name):
        with suppress(FileExistsError):
            write_new(target, data)
            return target
        with suppress(FileNotFoundError, NotAFile):
            if read_regular(target, LARGEST) == data:
                return target
    raise AssertionError("numbers do not end")


def _names(target: Path) -> Iterator[Path]:
    yield target
    for number in count(2):
        yield target.with_name(f"{target.stem}-{number}{target.suffix}")
