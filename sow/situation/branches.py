"""What git says of the tasks' branches, for the facts of tasks: asked once for all of them.

Owns when git is asked of single commits: only where the list of the branches does not tell. Reads
only.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UNSET

from sow.errors import SowError
from sow.git.inert_refs import read_ref
from sow.paths import Workspace
from sow.schema.task import Task, TaskStatus

if TYPE_CHECKING:
    from sow.clones.task_branches import TaskBranches

BRANCHES = "refs/heads/sow/"
"""Where the branches of tasks are."""


class Branches:
    """What git says of the tasks' branches: asked once for all of them, where anybody asks."""

    def __init__(self, workspace: Workspace, tell: Callable[[SowError], None]) -> None:
        self._workspace = workspace
        self._tell = tell

    @cached_property
    def tips(self) -> Mapping[str, str]:
        """The last commit of each branch of a task, by the branch's name."""
        return dict(self._listed())

    @cached_property
    def _unmerged(self) -> frozenset[str]:
        return frozenset(name for name, _ in self._listed("--no-merged=HEAD"))

    def _listed(self, *which: str) -> Iterator[tuple[str, str]]:
        from sow.git.run import git  # most projects have no clone

        words = ("for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", *which, BRANCHES)
        try:
            lines = git(self._workspace.root, *words).splitlines()
        except SowError as error:
            self._tell(error)
            return
        for line in lines:
            commit, _, name = line.partition(" ")
            yield name, commit

    def tip(self, task: Task) -> str | None:
        """Return the last commit of a task's branch; None where there is none."""
        return None if task.clone is UNSET else self.tips.get(task.clone.branch)

    def is_unmerged(self, task: Task) -> bool:
        """Whether a completed task's work is on a branch of its own alone."""
        if task.clone is UNSET or task.status is not TaskStatus.COMPLETED:
            return False
        tip = self.tip(task)
        if tip is None:
            return task.merged is UNSET
        if task.merged is not UNSET and task.merged.commit == tip:
            return False
        return task.clone.branch in self._unmerged

    def stands(self, task: Task) -> bool:
        """Whether a verdict on a task's clone is about what lies in its branch now."""
        tip, judged = self.tip(task), UNSET if task.review is UNSET else task.review.commit
        if tip is None or judged is UNSET:
            return False
        return tip == judged or self._differs_by_merges(task, judged, tip)

    @cached_property
    def _exact(self) -> "TaskBranches":
        from sow.clones.task_branches import TaskBranches  # asked of few commits

        return TaskBranches(self._workspace, {})

    def _differs_by_merges(self, task: Task, judged: str, tip: str) -> bool:
        try:
            return self._exact.stands(task, judged, tip)
        except SowError:
            return False

    def obstacle_to_bring(self, task: Task) -> SowError | None:
        """Return what keeps the work in a task's clone from coming here; asked where it has not."""
        if task.clone is UNSET:
            return None
        try:
            there = read_ref(Path(task.clone.path) / ".git", f"refs/heads/{task.clone.branch}")
            is_here = there is None or there == self.tip(task)
            return None if is_here else self._exact.obstacle_to_bring(task)
        except SowError as error:
            return error
        except OSError:
            return None

    def cloned_elsewhere(self, task: Task) -> SowError | None:
        """Return that another working tree has the clone of a task, where there is another."""
        git = self._workspace.root / ".git"
        try:
            alone = git.is_dir() and not (git / "worktrees").is_dir()
            return None if alone or not git.exists() else self._exact.cloned_elsewhere(task)
        except SowError as error:
            return error

    def obstacle(self, task: Task) -> SowError | None:
        """Return what a merge of a task alone would be refused for now."""
        try:
            return None if self.tip(task) is None else self._exact.obstacle(task)
        except SowError as error:
            return error
