"""Where the branch of a task begins: at the project's branch, with its dependencies merged in.

Owns that commit. A task that had a clone before goes on from its branch.
"""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from sow.clones.clone_facts import text_of
from sow.clones.merge_marks import is_named, marks_since, project_side
from sow.clones.place import Place
from sow.errors import StateError
from sow.git.identity import identity_of
from sow.git.merge_tree import MergedTree, merge_trees, side_of
from sow.git.repository import Repository
from sow.git.run import FETCH, LONG_SECONDS, git
from sow.git.view import View, view_of
from sow.lifecycle.task_ways import solving

MOST_NAMED = 20
"""How many files an error names."""


class Dependency(Struct, frozen=True):
    """A completed task whose work is not in the project's branch yet."""

    task: str
    commit: str


class DependencyConflict(StateError):
    """The work of the tasks that a task depends on does not fit together: it cannot start."""

    def __init__(self, place: Place, task: str, before: Sequence[str], merged: MergedTree) -> None:
        self.task = task
        self.files = merged.conflicts
        others = f"task {', '.join(before)}" if before else "the project's branch"
        first = before[0] if before else None
        merge = f"Merge task {first} (`sow merge {first}`), bring" if first else "Bring"
        super().__init__(
            f"task {place.task} cannot start: the work of task {task}, which it depends on,"
            f" conflicts with {others} in {text_of(self.files, MOST_NAMED)}",
            hint=f"{merge} task {task} up to date (`sow clone update {task}`), have its agent"
            f" solve the conflict ({solving(task, is_completed=True)}), complete it, and"
            " run the command again.",
        )


def begin_branch(
    draft: Path,
    repository: Repository,
    place: Place,
    commit: str,
    dependencies: Sequence[Dependency],
) -> str:
    """Make the task's branch in a fresh clone, and return its base. Nothing is checked out yet.

    A branch that is in the repository already, from an earlier clone of the
    task, is gone on with. Raises DependencyConflict, GitRefused.
    """
    view, main = view_of(draft), view_of(repository.top)
    earlier = main.commit_of(f"refs/heads/{place.branch}")
    if earlier is not None:
        _fetch(view, repository, earlier)
        tip, base = earlier, _base_of(view, main, place, earlier, commit)
    elif place.base and main.commit_of(place.base) is not None:
        _fetch(view, repository, place.base)
        tip = base = place.base
    else:
        _fetch(view, repository, commit)
        tip = base = _with_dependencies(view, repository, place, commit, dependencies)
    git(draft, "update-ref", f"refs/heads/{place.branch}", tip)
    git(draft, "symbolic-ref", "HEAD", f"refs/heads/{place.branch}")
    return base


def _base_of(view: View, main: View, place: Place, tip: str, commit: str) -> str:
    """Return the recorded base of a branch that goes on; without one, where it left the project.

    Of a branch that the project has all of (its task was merged, and reopened) it is
    the branch's end: what comes from now on is the task's change.
    """
    if main.is_ancestor(tip, commit):
        return tip
    if place.base and view.commit_of(place.base) is not None:
        return place.base
    return main.text("merge-base", tip, commit, accepted=(0, 1)) or tip


def _with_dependencies(
    view: View,
    repository: Repository,
    place: Place,
    commit: str,
    dependencies: Sequence[Dependency],
) -> str:
    merged_in: list[str] = []
    for dependency in dependencies:
        _fetch(view, repository, dependency.commit)
        if view.is_ancestor(dependency.commit, commit):
            continue
        if is_named(marks_since(view, commit, dependency.commit), dependency.commit):
            continue
        commit = _merge(view, repository, place, commit, dependency, merged_in)
        merged_in.append(dependency.task)
    return commit


def _merge(
    view: View,
    repository: Repository,
    place: Place,
    commit: str,
    dependency: Dependency,
    before: Sequence[str],
) -> str:
    """Merge a dependency's commit, but nothing that it changes of sow's own files."""
    apart = side_of(view, dependency.commit, commit, place.own_paths)
    merged = merge_trees(view, project_side(view, commit, dependency.commit), apart)
    if merged.stages:
        raise DependencyConflict(place, dependency.task, before, merged)
    text = f"Task {place.task} begins with task {dependency.task}, which it depends on\n"
    return view.text(
        *("commit-tree", merged.tree, "-p", commit, "-p", dependency.commit),
        stdin=text.encode(),
        variables=identity_of(repository.top),
    )


def _fetch(view: View, repository: Repository, commit: str) -> None:
    """Have a commit in the clone, with all that it needs: a shallow one has its own branch only."""
    if view.commit_of(commit) == commit:
        return
    view.text(*FETCH, str(repository.common_dir), commit, seconds=LONG_SECONDS)
