"""Where the clone of a task lies, and what its branch is called.

Owns both names. Makes nothing.
"""

import os
import re
from pathlib import Path

from msgspec import UNSET
from msgspec.structs import replace

from sow.clones.clone_facts import CloneFacts
from sow.clones.record import CloneRecord, noted_clone
from sow.config.clones import CloneSettings
from sow.errors import ConfigurationError, StateError
from sow.git.repository import Repository, branch_commit
from sow.ids import TaskId
from sow.paths import Workspace
from sow.schema.project import Project
from sow.schema.task import Task, TaskClone
from sow.user_folders import BaseFolder, user_folder

LONGEST_NAME = 40
ID_DIGITS = 8


class FolderInRepository(ConfigurationError):
    """`clones.folder` names a folder inside the repository."""

    def __init__(self, folder: Path, workspace: Workspace, repository: Repository) -> None:
        self.path = workspace.repository_config
        super().__init__(
            f"{workspace.repository_config}: clones.folder: {folder} is inside the repository"
            f" {repository.top}",
            hint="Set a folder outside it, such as ../clones or ~/clones. Agent CLIs read the"
            " instruction files of every folder above their working folder.",
        )


class BranchInPlaceOfFolder(StateError):
    """A branch has a name that branches of tasks need as their folder."""

    def __init__(self, branch: str, wanted: str) -> None:
        # Only a refusal names a way out.
        from sow.lifecycle.refusal_steps import first_after

        self.branch = branch
        super().__init__(
            f"a branch {branch} exists, so git cannot create a branch {wanted}",
            hint=f"Rename the branch (`{first_after(self)}`), or run the task without a clone"
            " (--no-clone).",
        )


class Place(CloneFacts, frozen=True, kw_only=True):
    """Where a task's clone lies or will lie. `base` is empty for a task that never had one."""

    workspace: Path
    """The root of the workspace."""
    checkout: str
    project: str
    task: TaskId

    @property
    def root(self) -> Path:
        """The clone's own folder for the workspace's root: where agents work."""
        return self.path / self.inside

    def since(self, base: str) -> "Place":
        """Return the same place of a branch that began at another commit."""
        return replace(self, base=base)


def place_of(
    workspace: Workspace,
    repository: Repository,
    checkout: str,
    project: Project,
    task: Task,
    settings: CloneSettings,
) -> Place:
    """Return where the clone of a task lies: where that is on record, if this checkout made it.

    A git folder is copied and a state file travels: the place that another checkout,
    machine or user wrote there is none of ours. Raises FolderInRepository, StateError.
    """
    known = known_clone(repository, project, task)
    path = _recorded_path(known, checkout, project, task)
    if path is None:
        of_checkout = f"{safe_name(repository.top.name)}-{checkout}"
        folder = clones_folder(workspace, repository, settings) / of_checkout
        path = folder / project.id[:ID_DIGITS] / task.id
    return _checked(
        Place(
            workspace=workspace.root,
            checkout=checkout,
            project=project.id,
            task=TaskId(task.id),
            path=path,
            branch=_own_branch(known, project, task) or branch_name(project, task.id),
            inside=inside_of(workspace.root, repository.top),
            base=known.base if known is not None else "",
        )
    )


def known_clone(
    repository: Repository, project: Project, task: Task
) -> CloneRecord | TaskClone | None:
    """Return what is on record of a task's clone: sow's own word, else that of the task's state."""
    noted = noted_clone(repository, project.id, task.id)
    if noted is not None or task.clone is UNSET:
        return noted
    return task.clone


def branch_of(repository: Repository, project: Project, task: Task) -> str:
    """Return the name of a task's branch: the one on record, where sow has named it."""
    known = known_clone(repository, project, task)
    return _own_branch(known, project, task) or branch_name(project, task.id)


def _own_branch(known: CloneRecord | TaskClone | None, project: Project, task: Task) -> str | None:
    """Return the branch on record; None where sow has not named it."""
    if known is None or not is_own_branch(known.branch, project.id, task.id):
        return None
    return known.branch


def is_own_branch(branch: str, project_id: str, task_id: str) -> bool:
    """Whether a branch on record is one that sow has named for this task.

    The project may have had another name then. Agents can write state files: those
    must not lead sow to somebody else's branch.
    """
    end = f"-{project_id[:ID_DIGITS]}/{task_id}"
    return re.fullmatch(f"sow/[a-z0-9-]+{re.escape(end)}", branch) is not None


def _recorded_path(
    known: CloneRecord | TaskClone | None, checkout: str, project: Project, task: Task
) -> Path | None:
    """Return the place on record; None where it is not one that this checkout would have chosen."""
    if known is None:
        return None
    path = Path(known.path)
    if not path.is_absolute() or path.parts[-2:] != (project.id[:ID_DIGITS], task.id):
        return None
    is_ours = len(path.parts) > 3 and path.parts[-3].endswith(f"-{checkout}")
    return path if is_ours else None


def _checked(place: Place) -> Place:
    try:
        str(place.path).encode()
    except UnicodeEncodeError:
        raise StateError(
            f"a clone cannot be at {os.fsencode(place.path)!r}: the path is not valid UTF-8",
            hint="Set clones.folder in .sow/config.yaml to a folder with a UTF-8 path.",
        ) from None
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
    return Path(user_folder(BaseFolder.STATE), "clones")


def may_have_clones(settings: CloneSettings) -> bool:
    """Whether there can be any clone; asked without git."""
    return settings.folder is not None or default_folder().is_dir()


def inside_of(root: Path, top: Path) -> str:
    """Return where a workspace lies in its repository; empty for its root."""
    inside = os.path.relpath(os.path.realpath(root), top)
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
    for count in range(1, len(parts)):
        above = "/".join(parts[:count])
        if branch_commit(repository, above) is not None:
            raise BranchInPlaceOfFolder(above, branch)
