"""What a project takes in and brings forth: files of the repository, listed in its `state.yaml`.

Owns which files may be listed, and what an approval is worth: it holds for the
bytes that were approved. Who may approve is not known here.
"""

import os
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

import msgspec
from msgspec import UNSET

from sow.errors import StateError
from sow.files import NotAFile, read_regular
from sow.paths import SOW_FOLDER, Workspace
from sow.schema.project import Artifact, Project
from sow.state.authors import Author
from sow.state.log_writing import LogEntry
from sow.state.projects import change_project
from sow.state.status_entries import ARTIFACT, change_entry
from sow.state.transitions import moment

LARGEST = 64 << 20
"""A larger file is no document."""


class Side(StrEnum):
    """On which side of the project a file stands. The values are the words of commands."""

    INPUT = "input"
    OUTPUT = "output"

    @property
    def field(self) -> str:
        """The field of the project's state in which such files are listed."""
        return f"{self.value}s"


class NotListable(StateError):
    """A path is no file that can be listed."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"{path}: {reason}",
            hint="Give an existing file of this repository, such as docs/design.md. Drafts are"
            " in .sow/project/context/.",
        )


class NotListed(StateError):
    """No such file is listed."""

    def __init__(self, side: Side, path: str, listed: Sequence[Artifact]) -> None:
        there = ", ".join(artifact.path for artifact in listed) or "none yet"
        super().__init__(
            f"{path} is not an {side} of the project",
            hint=f"Its {side.field}: {there}. `sow {side} add PATH --type TYPE` adds one.",
        )


def listed(project: Project, side: Side) -> list[Artifact]:
    """Return the files on one side of a project."""
    found: list[Artifact] | msgspec.UnsetType = getattr(project, side.field)
    return [] if found is UNSET else found


def path_inside(workspace: Workspace, cwd: Path, text: str) -> str:
    """Return the path of a file from the workspace's root. Raises NotListable.

    Links are followed: what lies outside the root is refused, and so is what
    belongs to git, or to this machine alone.
    """
    root = Path(os.path.realpath(workspace.root))
    real = Path(os.path.realpath(cwd / text)) if "\0" not in text else root
    if not real.is_relative_to(root):
        raise NotListable(text, "it lies outside the repository")
    inside = real.relative_to(root).as_posix()
    if not _is_text(inside):
        raise NotListable(repr(text), "its name is not valid text")
    if not is_contents(root, real):
        raise NotListable(text, "it is not part of the repository's contents")
    if not real.is_file():
        raise NotListable(text, "it is a folder" if real.is_dir() else "there is no such file")
    return inside


def is_contents(root: Path, real: Path) -> bool:
    """Whether a path below the root, links followed, is neither git's nor this machine's alone."""
    parts = real.relative_to(root).parts
    return ".git" not in parts and parts[:2] != (".sow", "run")


def outlives_project(workspace: Workspace, path: str) -> bool:
    """Whether a listed file lies, links followed, where it outlives the project."""
    root = Path(os.path.realpath(workspace.root))
    try:
        real = Path(os.path.realpath(root / path))
    except ValueError:  # it is no path
        return False
    is_inside = real.is_relative_to(root) and is_contents(root, real)
    return is_inside and real.relative_to(root).parts[:2] != (SOW_FOLDER, "project")


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def add_artifact(
    workspace: Workspace, side: Side, path: str, kind: str, *, by: Author, now: float
) -> Artifact:
    """List a file, once, and return how it is listed. Raises StateError, RefusedChange."""

    def change(project: Project) -> Mapping[str, object]:
        there = listed(project, side)
        for artifact in there:
            if artifact.path == path and artifact.type != kind:
                raise StateError(
                    f"{artifact.path} is an {side} already, of the type {artifact.type}",
                    hint=f"`sow {side} remove {artifact.path}` removes it from the list first.",
                )
            if artifact.path == path:
                return {}
        added = Artifact(path=path, type=kind, by=by.agent, at=moment(now))
        return {side.field: [*there, added]}

    words = f"{side.value.capitalize()} added: {path} ({kind})"
    entry = change_entry(words, ARTIFACT, by, now=now)
    project = change_project(workspace, change, now=now, entries=lambda: [entry])
    return next(artifact for artifact in listed(project, side) if artifact.path == path)


def remove_artifact(
    workspace: Workspace, side: Side, path: str, *, by: Author, now: float
) -> Artifact:
    """Take a file off the list; the file itself stays. Raises NotListed."""
    removed: list[Artifact] = []

    def change(project: Project) -> Mapping[str, object]:
        there = listed(project, side)
        removed[:] = [artifact for artifact in there if artifact.path == path]
        if not removed:
            raise NotListed(side, path, there)
        return {side.field: [artifact for artifact in there if artifact.path != path]}

    def entries() -> list[LogEntry]:
        words = f"{side.value.capitalize()} removed: {path} ({removed[0].type})"
        return [change_entry(words, ARTIFACT, by, now=now)]

    change_project(workspace, change, now=now, entries=entries)
    return removed[0]


def kept_folder(kind: str, settings: Mapping[str, str]) -> str:
    """Return the folder in which documents of a type outlive the project: as the settings say."""
    many = kind if kind.endswith("s") else f"{kind}s"
    many = f"{kind[:-1]}ies" if kind.endswith("y") else many
    return settings.get(many) or settings.get(kind) or f".sow/knowledge/{many}"


def content_of(workspace: Workspace, path: str) -> str | None:
    """Return what tells the bytes of a file from others; None where there is no such file now."""
    from hashlib import sha256  # it loads OpenSSL, and most looks at a project hash nothing

    try:
        return sha256(read_regular(workspace.root / path, LARGEST)).hexdigest()
    except (FileNotFoundError, NotAFile):
        return None


def is_approved(workspace: Workspace, artifact: Artifact) -> bool:
    """Whether a file is approved as it stands now."""
    if artifact.approved is UNSET:
        return False
    return artifact.approved.content == content_of(workspace, artifact.path)
