"""What git says of the tasks' branches in the repository. Reads only."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from msgspec import UNSET

from sow.clones.checked_work import is_as_checked
from sow.clones.main_checkout import MainCheckout, branch_tip, main_checkout, project_branch
from sow.clones.merge_marks import lost_results
from sow.clones.place import Place
from sow.clones.same_merge import differs_by_merges_alone, taken_back
from sow.clones.taken_up import is_untaken
from sow.config.checks import read_repository
from sow.config.clones import clone_settings
from sow.errors import SowError
from sow.git.git_errors import GitMissing, NoRepository
from sow.git.inert_refs import UnsafeClone, read_ref
from sow.git.run import LONG_SECONDS
from sow.git.view import WITH_PATTERNS, view_of
from sow.paths import SOW_FOLDER, Workspace
from sow.schema.task import Task, TaskMerge

ENTRY = 3
"""How many characters of a record stand before the path."""


def changed_files(main: MainCheckout) -> tuple[str, ...]:
    """Return what differs from the last commit in the checked-out tree, relative to its top."""
    words = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all")
    exclude = f":(exclude,glob)**/{SOW_FOLDER}/**"
    records = view_of(main.repository.top).records(
        *words,
        "--ignore-submodules=none",
        *("--", ".", exclude),
        variables=WITH_PATTERNS,
        seconds=LONG_SECONDS,
    )
    return tuple(record[ENTRY:] for record in records)


def of_task(main: MainCheckout, task: Task, changed: Sequence[str]) -> tuple[str, ...]:
    """Return which of the changed files may be a task's: none that was as it is before it began."""
    started = task.started_at
    if started is UNSET:
        return tuple(changed)
    return tuple(path for path in changed if _changed_at(main, path) >= started.timestamp())


def until_its_end(main: MainCheckout, task: Task, paths: Sequence[str]) -> tuple[str, ...]:
    """Return which files have not been changed since a task was completed."""
    end = task.completed_at if task.completed_at is not UNSET else task.updated_at
    return tuple(path for path in paths if _changed_at(main, path) <= _end_of(end))


def _end_of(moment: datetime) -> float:
    return moment.timestamp() + 1  # it is of whole seconds


def _changed_at(main: MainCheckout, path: str) -> float:
    """Return when a file was last written; of one that is gone, when its folder was."""
    place = main.repository.top / path
    for there in (place, *place.parents):
        try:
            return there.lstat().st_mtime
        except OSError:
            continue
    return 0.0


@dataclass
class TaskBranches:
    """What git says of the tasks' branches: asked where it is needed, and of a commit once.

    For one look: where the clone of a task lies is read once.
    """

    workspace: Workspace
    answers: dict[tuple[str, ...], bool]
    _places: dict[str, tuple[Task, Place]] = field(default_factory=dict)

    @cached_property
    def main(self) -> MainCheckout:
        """The checkout that the branches are asked of."""
        source = read_repository(self.workspace.repository_config)
        return main_checkout(self.workspace, clone_settings(source)[0])

    @cached_property
    def project_tip(self) -> str:
        """The last commit of the project's branch, when it was first asked for."""
        branch, repository = project_branch(self.main), self.main.repository
        return repository.commit if repository.branch == branch else branch_tip(self.main, branch)

    def _place(self, task: Task) -> Place:
        known = self._places.get(task.id)
        if known is None or known[0] is not task:
            known = self._places[task.id] = task, self.main.place(task)
        return known[1]

    def tip(self, task: Task) -> str | None:
        """Return the last commit of a task's branch in the repository."""
        name = f"refs/heads/{self._place(task).branch}"
        try:
            return read_ref(self.main.repository.common_dir, name)
        except UnsafeClone:  # the branches are kept in another form
            return view_of(self.main.repository.top).commit_of(name)

    @cached_property
    def changed_files(self) -> tuple[str, ...]:
        """The files of the checked-out tree that differ from its last commit."""
        return changed_files(self.main)

    def left_in_tree(self, task: Task, *, with_later: bool) -> tuple[str, ...]:
        """Return the files in no commit that a task without a clone may have changed.

        `with_later`: also those that somebody has changed since it was completed.
        """
        try:
            paths = of_task(self.main, task, self.changed_files)
            return paths if with_later else until_its_end(self.main, task, paths)
        except (NoRepository, GitMissing):
            return ()  # there is no branch that could lack them

    def is_noted(self, task: Task) -> bool:
        """Whether sow's own record knows of a clone of a task's."""
        try:
            return self.main.noted(task) is not None
        except (NoRepository, GitMissing):
            return False

    def is_untaken(self, task: Task, tip: str | None, *, was_prevented: bool) -> bool:
        """Whether a task's clone has work that the repository lacks."""
        return is_untaken(self.main, self._place(task), task, tip, was_prevented=was_prevented)

    def clone_is_gone(self, task: Task) -> bool:
        """Whether nothing lies where a task's clone should."""
        return not os.path.lexists(self._place(task).path)

    def stands(self, task: Task, judged: str, tip: str) -> bool:
        """Whether a verdict on a commit holds for the branch as it is now."""
        if judged == tip:
            return True
        key = ("stands", judged, tip, self.project_tip)
        if key not in self.answers:
            facts, repository = self._place(task).since(judged), self.main.repository
            self.answers[key] = differs_by_merges_alone(
                repository, facts, self.project_tip, judged, tip
            )
        return self.answers[key]

    def obstacle(self, task: Task) -> SowError | None:
        """Return what a merge of a task alone would be refused for now."""
        from sow.clones.merge_look import obstacle_to_merge  # only where one came to nothing

        return obstacle_to_merge(self.main, task)

    def newer_commit(self, task: Task) -> str | None:
        """Return the last commit in a task's clone, where that lies here and is another one."""
        from sow.clones.newer_commits import newer_commit  # only where the two differ

        return newer_commit(self.main, task)

    def obstacle_to_bring(self, task: Task) -> SowError | None:
        """Return what keeps a task's branch from coming here from its clone."""
        from sow.clones.merge_look import obstacle_to_bring  # only where the two differ

        return obstacle_to_bring(self.main, task)

    def is_as_checked(self, task: Task) -> bool:
        """Whether nothing was committed in a task's clone since its last check."""
        place = self._place(task)
        return task.check is UNSET or is_as_checked(place.path, place.branch, task.check)

    def cloned_elsewhere(self, task: Task) -> SowError | None:
        """Return that another working tree has the clone of a task."""
        from sow.clones.record import refuse_cloned_elsewhere  # only where there is another

        try:
            refuse_cloned_elsewhere(self.main.repository, self.main.project.id, task.id)
        except SowError as error:
            return error
        return None

    def taken_back(self, task: Task, judged: str, tip: str) -> tuple[str, ...]:
        """Return what was merged into a judged branch and the project's branch has no more."""
        facts = self._place(task).since(judged)
        return taken_back(self.main.repository, facts, self.project_tip, judged, tip)

    def lost_merges(self, merges: Iterable[TaskMerge]) -> set[str]:
        """Return the merged commits of tasks that the project's branch holds no more.

        It is asked of all together, and once for each place at which the project's branch stands.
        """
        keys = {merge: ("lost", merge.commit, merge.result, self.project_tip) for merge in merges}
        new = [merge for merge, key in keys.items() if key not in self.answers]
        if new:
            view = view_of(self.main.repository.top)
            lost = set(lost_results(view.folder, self.project_tip, new))
            for merge in new:
                is_lost = merge.result in lost
                self.answers[keys[merge]] = is_lost and not view.is_ancestor(
                    merge.commit, self.project_tip
                )
        return {merge.commit for merge, key in keys.items() if self.answers[key]}

    def is_behind(self, tip: str) -> bool:
        """Whether the project's branch has something that a task's branch lacks."""
        key = ("behind", self.project_tip, tip)
        if key not in self.answers:
            view = view_of(self.main.repository.top)
            self.answers[key] = not view.is_ancestor(self.project_tip, tip)
        return self.answers[key]
