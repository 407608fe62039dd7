"""The main checkout as the work on clones sees it: workspace, repository, project and settings.

Owns putting these together once, and which branch the tasks are merged into. Changes nothing but
the file of the checkout's id.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct

from sow.clones.checkout_id import checkout_id
from sow.clones.mark import Stage, own_mark
from sow.clones.place import ID_DIGITS, Place, clones_folder, place_of
from sow.clones.record import CloneRecord, noted_clone
from sow.config.checks import read_repository
from sow.config.clones import CloneSettings, clone_settings
from sow.errors import ConfigurationError, StateError
from sow.git.repository import Repository, branch_commit, repository_of
from sow.paths import Workspace
from sow.schema.project import Project
from sow.schema.task import Task
from sow.state.projects import read_project

if TYPE_CHECKING:
    from sow.config.configuration import Configuration


class ProjectBranchGone(StateError):
    """The branch that the project names is not in the repository."""

    def __init__(self, branch: str, state: Path, here: str | None) -> None:
        self.branch = branch
        self.here = here
        # Only a refusal names a way out.
        from sow.lifecycle.refusal_steps import first_after

        super().__init__(
            f"{state}: project.branch names {branch}, but the repository has no such branch",
            hint=f"If the branch was renamed, set its new name: `{first_after(self)}`. Otherwise"
            f" create it again: `git branch {branch} COMMIT`.",
        )


class NoProjectBranch(StateError):
    """The project names no branch, and none is checked out."""

    def __init__(self, main: "MainCheckout") -> None:
        # Only a refusal names a way out.
        from sow.lifecycle.refusal_steps import first_after

        super().__init__(
            f"there is no branch to merge into: {main.workspace.project_state} names no branch,"
            f" and {main.repository.top} has no branch checked out",
            hint=f"Check out the project's branch (`{first_after(self)}`), or set its name: `sow"
            ' project set branch "<branch>"`.',
        )


class Checkout(Struct, frozen=True):
    """A workspace and its checkout, whatever project is in it, and none too."""

    workspace: Workspace
    repository: Repository
    checkout: str
    """The id of this checkout."""
    settings: CloneSettings


class MainCheckout(Checkout, frozen=True):
    """The same with its project: what its tasks' clones are made of."""

    project: Project

    @property
    def project_commit(self) -> str:
        """The commit of the project's branch. Raises ProjectBranchGone."""
        return project_commit(self.repository, self.project, self.workspace.project_state)

    @property
    def project_branch(self) -> str | None:
        """The name of the project's branch: its own, else what is checked out; None for neither."""
        branch = self.project.branch
        return self.repository.branch if branch is UNSET else branch

    def noted(self, task: Task) -> CloneRecord | None:
        """Return sow's own record of a task's clone; None for a clone that was made elsewhere."""
        return noted_clone(self.repository, self.project.id, task.id)

    def place(self, task: Task) -> Place:
        """Return where a task's clone lies. Raises FolderInRepository, StateError."""
        return place_of(
            self.workspace, self.repository, self.checkout, self.project, task, self.settings
        )

    def folders(self) -> list[Path]:
        """Return the folders in which clones of this project's tasks lie, by the settings.

        There are several where the repository's folder was renamed meanwhile.
        """
        folder = clones_folder(self.workspace, self.repository, self.settings)
        found = folder.glob(f"*-{self.checkout}/{self.project.id[:ID_DIGITS]}")
        return sorted(path for path in found if path.is_dir())


def project_commit(repository: Repository, project: Project, state: Path) -> str:
    """Return the commit of the project's branch, else of what is checked out.

    `state` is the project's file, for the error. Raises ProjectBranchGone.
    """
    if project.branch is UNSET or project.branch == repository.branch:
        return repository.commit
    found = branch_commit(repository, project.branch)
    if found is None:
        raise ProjectBranchGone(project.branch, state, repository.branch)
    return found


def project_branch(main: MainCheckout) -> str:
    """Return the branch that tasks are merged into. Raises NoProjectBranch."""
    if main.project_branch is None:
        raise NoProjectBranch(main)
    return main.project_branch


def branch_tip(main: MainCheckout, branch: str) -> str:
    """Return the commit of the project's branch as it is now. Raises ProjectBranchGone."""
    tip = branch_commit(main.repository, branch)
    if tip is None:
        raise ProjectBranchGone(branch, main.workspace.project_state, main.repository.branch)
    return tip


def known_settings(workspace: Workspace) -> CloneSettings:
    """Return the settings of clones; the defaults where the file cannot be used now.

    For what is done with a clone that is there: where that lies is on record.
    """
    try:
        return clone_settings(read_repository(workspace.repository_config))[0]
    except ConfigurationError:
        return CloneSettings()


def checkout_of(workspace: Workspace, settings: CloneSettings) -> Checkout:
    """Return the checkout of a workspace.

    Raises NoRepository, GitMissing, GitRefused, NotWritten.
    """
    repository = repository_of(workspace.root)
    return Checkout(workspace, repository, checkout_id(repository), settings)


def main_checkout(workspace: Workspace, settings: CloneSettings) -> MainCheckout:
    """Return the main checkout of a workspace.

    Raises NoRepository, GitMissing, GitRefused, NoProject, NotWritten.
    """
    here = checkout_of(workspace, settings)
    return MainCheckout(
        workspace, here.repository, here.checkout, settings, read_project(workspace)
    )


def clone_place(workspace: Workspace, config: "Configuration", task: Task) -> Place:
    """Return where a task's clone lies; it need not be there.

    Raises NoRepository, GitMissing, FolderInRepository.
    """
    return main_checkout(workspace, config.clones).place(task)


def existing_clone(workspace: Workspace, config: "Configuration", task: Task) -> Path:
    """Return the same of a clone that is there and whole. Raises StateError."""
    place = main_checkout(workspace, config.clones).place(task)
    mark = own_mark(place)
    if mark is None or mark.stage != Stage.WHOLE:
        raise StateError(
            f"the clone of task {task.id} is missing: {place.path}",
            hint=f'The next `sow agent resume {task.id} "…"` creates it again from its branch.',
        )
    return place.root
