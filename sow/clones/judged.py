"""What a verdict is about: a commit of the task's branch in the main repository, and its change.

The clone itself has no say in it: what is judged is what was brought back, and what a merge
would take. What somebody has committed there since is brought back right before
(`newer_commits`). Nor has the task's state a say, which its author can write.
"""

from msgspec import UNSET

from sow.clones.difference import Difference, difference
from sow.clones.main_checkout import MainCheckout, main_checkout
from sow.clones.place import branch_of, known_clone
from sow.clones.task_diff import facts_of
from sow.config.clones import CloneSettings
from sow.errors import StateError
from sow.git.repository import branch_commit, repository_of
from sow.git.view import view_of
from sow.paths import Workspace
from sow.schema.task import Task


def judged_commit(workspace: Workspace, task: Task) -> str:
    """Return the commit on which the work of a task stands that is judged now.

    Raises StateError for a task with a clone, NoRepository, GitMissing, GitRefused.
    """
    if task.clone is UNSET:
        return repository_of(workspace.root).commit
    main = _checkout(workspace)
    branch = branch_of(main.repository, main.project, task)
    commit = branch_commit(main.repository, branch)
    if commit is None:
        raise StateError(
            f"task {task.id} cannot be reviewed: {main.repository.top} has no branch {branch}",
            hint="sow copies the branch there when the agent ends. If the clone still exists,"
            f" `sow clone update {task.id}` copies the branch. Otherwise fetch it from the computer"
            f' that made the clone, or run the agent again: `sow agent resume {task.id} "…"`.',
        )
    return commit


def judged_change(workspace: Workspace, task: Task, commit: str) -> Difference:
    """Return what a task with a clone has changed up to a commit of its branch.

    All of it is seen in the main repository. Raises NoRepository, GitRefused.
    """
    main = _checkout(workspace)
    known = known_clone(main.repository, main.project, task)
    base = known.base if known is not None else commit
    branch = branch_of(main.repository, main.project, task)
    facts = facts_of(workspace.root, main.repository.top, main.repository.top, branch, base)
    view = view_of(main.repository.top)
    project = main.project_branch
    tip = branch_commit(main.repository, project) if project else None
    return difference(view, facts, commit, tip)


def _checkout(workspace: Workspace) -> MainCheckout:
    """Return the main checkout as far as no setting is asked: where clones lie does not matter."""
    return main_checkout(workspace, CloneSettings())
