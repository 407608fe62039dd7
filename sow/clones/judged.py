"""What a verdict is about: a commit of the task's branch in the main repository, and its change.

The clone itself has no say in it: what is judged is what was brought back, and
what a merge would take.
"""

from pathlib import Path

from msgspec import UNSET

from sow.clones.difference import Difference, difference
from sow.clones.task_diff import facts_of
from sow.errors import StateError
from sow.git.repository import Repository, repository_of
from sow.git.view import view_of
from sow.paths import Workspace
from sow.schema.task import Task, TaskClone
from sow.state.projects import read_project


class NothingBroughtBack(StateError):
    """The task has a clone, and the repository does not have the task's branch."""

    def __init__(self, task_id: str, branch: str, top: Path) -> None:
        super().__init__(
            f"task {task_id} cannot be judged: {top} has no branch {branch}",
            hint=f"Its branch is brought there when its agent has ended: run it again (`sow agent"
            f' resume {task_id} "…"`), or fetch the branch from where the clone was made.',
        )


def judged_commit(workspace: Workspace, task: Task) -> str:
    """Return the commit on which the work of a task stands that is judged now.

    Raises NothingBroughtBack for a task with a clone, NoRepository, GitMissing, GitRefused.
    """
    main = repository_of(workspace.root)
    if task.clone is UNSET:
        return main.commit
    commit = view_of(main.top).commit_of(f"refs/heads/{task.clone.branch}")
    if commit is None:
        raise NothingBroughtBack(task.id, task.clone.branch, main.top)
    return commit


def judged_change(workspace: Workspace, clone: TaskClone, commit: str) -> Difference:
    """Return what a task has changed up to a commit of its branch. Raises NoRepository, GitRefused.

    All of it is seen in the main repository.
    """
    main = repository_of(workspace.root)
    view = view_of(main.top)
    facts = facts_of(workspace.root, main.top, clone.path, clone.branch, clone.base)
    project = project_branch(workspace, main)
    tip = view.commit_of(f"refs/heads/{project}") if project else None
    return difference(view, facts, commit, tip)


def project_branch(workspace: Workspace, main: Repository) -> str | None:
    """Return the name of the project's branch: its own, else what is checked out."""
    branch = read_project(workspace).branch
    return branch if isinstance(branch, str) else main.branch
