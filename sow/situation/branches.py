"""What git says of the tasks' branches, for the facts of tasks: asked once for all of them.

Owns when git is asked of single commits: only where the list of the branches does not tell. Reads
only.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UNSET

from sow.errors import SowError
from sow.git.checked_out import lacks_branch
from sow.git.head import common_dir, find_git
from sow.git.inert_refs import read_ref
from sow.paths import Workspace
from sow.schema.project import Project
from sow.schema.task import CheckRecord, Task, TaskMerge, TaskStatus

if TYPE_CHECKING:
    from sow.clones.task_branches import TaskBranches

BRANCHES = "refs/heads/sow/"
"""Where the branches of tasks are."""


class Branches:
    """What git says of the tasks' branches: asked once for all of them, where anybody asks."""

    def __init__(
        self,
        workspace: Workspace,
        project: Project,
        tasks: Sequence[Task],
        tell: Callable[[SowError], None],
    ) -> None:
        self._workspace = workspace
        self._project = project
        self._tasks = tasks
        self._tell = tell

    @cached_property
    def tips(self) -> Mapping[str, str]:
        """The last commit of each branch of a task, by the branch's name."""
        return dict(self._listed())

    @cached_property
    def _unmerged(self) -> frozenset[str]:
        return frozenset(name for name, _ in self._listed(f"--no-merged={self._into}"))

    @cached_property
    def _into(self) -> str:
        """What tasks are merged into: the project's branch; what is checked out where none is."""
        branch = self._project.branch
        if branch is UNSET or lacks_branch(self._workspace.root, branch):
            return "HEAD"
        return f"refs/heads/{branch}"

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

    def newest(self, task: Task) -> str | None:
        """Return the last commit of a task's work: its clone's, where the two differ."""
        tip = self.tip(task)
        with suppress(SowError):  # a merge says what is wrong with the clone
            if tip is not None and self._tip_in_clone(task) not in (None, tip):
                return self._exact.newer_commit(task) or tip
        return tip

    def is_as_checked(self, task: Task, check: CheckRecord) -> bool:
        """Whether nothing was committed in a task's clone since its last check."""
        from sow.clones.checked_work import is_as_checked  # few tasks are checked, and then wait

        where = task.clone
        return where is UNSET or is_as_checked(Path(where.path), where.branch, check)

    def is_unmerged(self, task: Task) -> bool:
        """Whether a completed task's work is on a branch of its own alone."""
        if task.clone is UNSET or task.status is not TaskStatus.COMPLETED:
            return False
        if self._holds_tip(task):
            return False
        record = self._record(task)
        return record is None or record.result in self._lost

    def _holds_tip(self, task: Task) -> bool:
        """Whether the project's branch has the last commit of a task's branch."""
        if task.clone is UNSET or task.clone.branch not in self.tips:
            return False
        return task.clone.branch not in self._unmerged

    def _record(self, task: Task) -> TaskMerge | None:
        """Return how the last commit of a task was merged, as its state says."""
        if task.merged is UNSET or self.tip(task) not in (None, task.merged.commit):
            return None
        return task.merged

    @cached_property
    def _lost(self) -> frozenset[str]:
        """The commits that brought tasks' work, and that the project's branch has no more.

        Nothing is merged that somebody has taken back: a `git reset`, say, after a squash.
        """
        records = [
            record
            for task in self._tasks
            if task.clone is not UNSET and task.status is TaskStatus.COMPLETED
            if not self._holds_tip(task) and (record := self._record(task)) is not None
        ]
        if not records:
            return frozenset()
        from sow.clones.merge_marks import lost_results  # few tasks are merged otherwise

        try:
            return frozenset(lost_results(self._workspace.root, self._into, records))
        except SowError as error:
            self._tell(error)
            return frozenset(record.result for record in records)

    def stands(self, task: Task) -> bool:
        """Whether a verdict on a task's clone is about what lies in its branch now.

        A merge brings what its clone has, so that counts where the two differ.
        """
        tip, judged = self.tip(task), UNSET if task.review is UNSET else task.review.commit
        if tip is None or judged is UNSET:
            return False
        tip = self.newest(task) or tip
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
            there = self._tip_in_clone(task)
            is_here = there is None or there == self.tip(task)
            return None if is_here else self._exact.obstacle_to_bring(task)
        except SowError as error:
            return error

    def is_in_clone(self, task: Task) -> bool:
        """Whether a task's clone has the task's branch."""
        try:
            return self._tip_in_clone(task) is not None
        except SowError:
            return False

    def _tip_in_clone(self, task: Task) -> str | None:
        """Return the last commit of a task's branch in its clone. Raises UnsafeClone."""
        if task.clone is UNSET:
            return None
        with suppress(OSError):
            return read_ref(Path(task.clone.path) / ".git", f"refs/heads/{task.clone.branch}")
        return None

    def cloned_elsewhere(self, task: Task) -> SowError | None:
        """Return that another working tree has the clone of a task, where there is another."""
        git, _, _ = find_git(os.path.realpath(self._workspace.root))
        try:
            if not git or (common_dir(git) == git and not Path(git, "worktrees").is_dir()):
                return None
            return self._exact.cloned_elsewhere(task)
        except SowError as error:
            return error

    def obstacle(self, task: Task) -> SowError | None:
        """Return what a merge of a task alone would be refused for now."""
        try:
            return None if self.tip(task) is None else self._exact.obstacle(task)
        except SowError as error:
            return error
