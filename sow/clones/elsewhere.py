"""A task's clone that another working tree of the same repository has made.

All working trees share the branches, and a task's branch is named after its project: two clones of
one task would write the same branch in turns, and neither would notice. Owns that refusal.
"""

from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from sow.clone_mark import CHECKOUT_PLACE
from sow.clones.checkout_id import recorded_path
from sow.clones.record import noted_clone
from sow.errors import StateError
from sow.git.repository import Repository


class ClonedElsewhere(StateError):
    """The task has its clone by another working tree of this repository."""

    def __init__(self, task: str, other: str) -> None:
        self.other = other
        super().__init__(
            f"the clone of task {task} belongs to the working tree {other}, which has the same"
            " project checked out",
            hint="A project belongs to one branch and one working tree. Continue the task in"
            " that working tree. For this branch, end the project here with `sow project"
            " abandon --remove` and start a new one with `sow project new NAME`.",
        )


def refuse_cloned_elsewhere(repository: Repository, project: str, task: str) -> None:
    """Raise ClonedElsewhere where another working tree has a clone of this very task."""
    for git_dir in _other_git_folders(repository):
        noted = noted_clone(replace(repository, git_dir=git_dir), project, task)
        if noted is not None and Path(noted.path).exists():
            other = recorded_path(git_dir / CHECKOUT_PLACE) or str(git_dir)
            raise ClonedElsewhere(task, other)


def _other_git_folders(repository: Repository) -> Iterator[Path]:
    folder = repository.common_dir / "worktrees"
    try:
        linked = sorted(folder.iterdir())
    except OSError:
        linked = []
    for git_dir in (repository.common_dir, *linked):
        if not git_dir.samefile(repository.git_dir):
            yield git_dir
