"""Where the clone of a task lies, and what its branch is called.

Owns both names. Makes nothing.
"""

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from msgspec import UNSET

from sow.clones.facts import CloneFacts
from sow.config.clones import CloneSettings
from sow.errors import ConfigurationError, StateError
from sow.git.repository import Repository
from sow.git.view import view_of
from sow.ids import TaskId
from sow.paths import Workspace
from sow.schema.project import Project
from sow.schema.task import Task

LONGEST_NAME = 40
ID_DIGITS = 8


class FolderInRepository(ConfigurationError):
    """`clones.folder` names a folder inside the repository."""

    def __init__(self, folder: Path, workspace: Workspace, repository: Repository) -> None:
        super().__init__(
            f"{workspace.repository_config}: clones.folder: {folder} lies inside the repository"
            f" {repository.top}",
            hint="Name a folder outside it, such as ../clones or ~/clones: agents' CLIs read the"
            " instructions of every folder above the one in which they work.",
        )


class BranchInPlaceOfFolder(StateError):
    """A branch has a name that branches of tasks need as their folder."""

    def __init__(self, branch: str, wanted: str) -> None:
        super().__init__(
            f"there is a branch named {branch}, so git can make no branch {wanted}",
            hint=f"Rename it (`git branch -m {branch} another-name`), or run the task without a"
            " clone (--no-clone).",
        )
        self.branch = branch


class PathNotText(StateError):
    """The place of a clone cannot be written into a state file."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"a clone cannot lie at {os.fsencode(path)!r}: the path is no UTF-8",
            hint="Set clones.folder in .sow/config.yaml to a folder whose path is.",
        )


@dataclass(frozen=True)
class Place:
    """Where a task's clone lies or will lie."""

    workspace: Path
    """The root of the workspace."""
    checkout: str
    project: str
    task: TaskId
    path: Path
    branch: str
    """Without `refs/heads/`."""
    inside: str
    """The workspace's root, relative to the repository's; empty where they are the same."""
    base: str | None = None
    """The commit that the branch began at; None for a task that never had a clone."""

    @property
    def root(self) -> Path:
        """The clone's own folder for the workspace's root: where agents work."""
        return self.path / self.inside

    def facts(self, base: str) -> CloneFacts:
        """Return what the git work on the clone must know."""
        return CloneFacts(self.path, self.branch, base, self.inside)


def place_of(
    workspace: Workspace,
    repository: Repository,
    checkout: str,
    project: Project,
    task: Task,
    settings: CloneSettings,
) -> Place:
    """Return where the clone of a task lies: where its state says, if this checkout made it.

    A state file travels: the place that another checkout, machine or user wrote
    into it is none of ours. Raises FolderInRepository, PathNotText.
    """
    named = Place(
        workspace=workspace.root,
        checkout=checkout,
        project=project.id,
        task=TaskId(task.id),
        path=clones_folder(workspace, repository, settings)
        / f"{safe_name(repository.top.name)}-{checkout}"
        / project.id[:ID_DIGITS]
        / task.id,
        branch=branch_name(project, task.id),
        inside=inside_of(workspace, repository),
    )
    if task.clone is UNSET:
        return _checked(named)
    recorded = Path(task.clone.path)
    is_ours = recorded.is_absolute() and recorded.parts[-3:] == (
        *_ours(recorded, checkout),
        *named.path.parts[-2:],
    )
    return _checked(
        Place(
            workspace=named.workspace,
            checkout=checkout,
            project=named.project,
            task=named.task,
            path=recorded if is_ours else named.path,
            branch=task.clone.branch if is_own_branch(task.clone.branch, named) else named.branch,
            inside=named.inside,
            base=task.clone.base,
        )
    )


def is_own_branch(branch: str, place: Place) -> bool:
    """Whether a branch in a state file is one that sow has named for this task.

    The project may have had another name then. Agents can write that file: it
    must not lead sow to somebody else's branch.
    """
    end = f"-{place.project[:ID_DIGITS]}/{place.task}"
    return re.fullmatch(f"sow/[a-z0-9-]+{re.escape(end)}", branch) is not None


def _ours(recorded: Path, checkout: str) -> tuple[str, ...]:
    """Return the folder of this checkout's clones as a recorded path names it, if it does."""
    name = recorded.parts[-3] if len(recorded.parts) > 3 else ""
    return (name,) if name.endswith(f"-{checkout}") else ()


def _checked(place: Place) -> Place:
    try:
        str(place.path).encode()
    except UnicodeEncodeError:
        raise PathNotText(place.path) from None
    return place


def clones_folder(workspace: Workspace, repository: Repository, settings: CloneSettings) -> Path:
    """Return the folder of all clones, without links. Raises FolderInRepository."""
    if settings.folder is None:
        folder = default_folder()
    else:
        written = os.path.expanduser(settings.folder)  # noqa: PTH111 - no error without a home
        folder = workspace.root / written
    folder = Path(os.path.realpath(folder))
    if folder == repository.top or repository.top in folder.parents:
        raise FolderInRepository(folder, workspace, repository)
    return folder


def default_folder() -> Path:
    """Return `$XDG_STATE_HOME/sow/clones`, or what stands for it on this platform."""
    if sys.platform == "win32":
        from platformdirs.windows import Windows  # each platform needs its own only

        return Path(Windows("sow", appauthor=False).user_state_dir, "clones")
    from platformdirs.unix import Unix  # likewise

    return Path(Unix("sow").user_state_dir, "clones")


def inside_of(workspace: Workspace, repository: Repository) -> str:
    """Return where the workspace lies in its repository; empty for its root."""
    inside = os.path.relpath(os.path.realpath(workspace.root), repository.top)
    return "" if inside == "." else inside


def branch_name(project: Project, task_id: str) -> str:
    """Return the name of a task's branch: `sow/<project>/<task>`."""
    return f"sow/{safe_name(project.name)}-{project.id[:ID_DIGITS]}/{task_id}"


def safe_name(text: str) -> str:
    """Return `text` as a part of a branch's name, or of a path: lower case, digits and dashes."""
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower())
    return plain.strip("-")[:LONGEST_NAME].strip("-") or "x"


def refuse_branch_in_the_way(repository: Repository, branch: str) -> None:
    """Raise BranchInPlaceOfFolder where a branch is named like a folder of `branch`."""
    parts = branch.split("/")
    view = view_of(repository.top)
    for count in range(1, len(parts)):
        above = "/".join(parts[:count])
        code, _, _ = view.answer("show-ref", "--verify", "--quiet", f"refs/heads/{above}")
        if code == 0:
            raise BranchInPlaceOfFolder(above, branch)
