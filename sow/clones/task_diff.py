"""One task's change, from wherever it can be known, and told how far that is.

From its clone; without that from its branch in the main repository; for a task
that never had a clone there is only the working tree, where all tasks' and
people's changes lie together.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from sow.clones.clone_facts import CloneFacts, taking_command
from sow.clones.difference import (
    difference,
    patch_of,
    stat_of,
    working_tree_files,
)
from sow.clones.links_out import LinkOut, links_out, links_out_of_tree
from sow.clones.place import inside_of
from sow.clones.steering import steering_files
from sow.errors import StateError
from sow.git.inert_refs import read_ref
from sow.git.private_view import private_view, real_git_dir
from sow.git.repository import Repository, branch_commit, repository_of
from sow.git.view import View, view_of


class TaskChange(Struct, frozen=True):
    """What a task has changed, or, where `is_tasks_own` is False, everybody together."""

    is_tasks_own: bool
    base: str | None
    """What it is told against; None for the working tree, which is told against its HEAD."""
    commit: str | None
    files: tuple[str, ...]
    state_files: tuple[str, ...]
    taking: str
    """The command that takes those of them that a person may want."""
    steers: tuple[str, ...]
    links_out: tuple[LinkOut, ...]
    """The links among them that lead out of the repository."""
    patch: bytes | None
    stat: bytes | None


def facts_of(root: Path, top: Path, path: Path, branch: str, base: str) -> CloneFacts:
    """Return what is to be known of a clone, for a workspace at `root` in the repository `top`."""
    return CloneFacts(path, branch, base, inside_of(root, top))


def task_change(
    main: Repository,
    facts: CloneFacts,
    project: str | None,
    *,
    patch: bool = False,
    stat: bool = False,
) -> TaskChange:
    """Return what the task of a clone has changed; what is not committed is not in it.

    `project` is the project's branch. Raises StateError, UnsafeClone, GitRefused.
    """
    with _where(main, facts) as (view, commit):
        tip = branch_commit(main, project) if project else None
        found = difference(view, facts, commit, tip)
        return TaskChange(
            is_tasks_own=True,
            base=found.base,
            commit=found.commit,
            files=found.files,
            state_files=found.state_files,
            taking=taking_command(facts, found.state_files, found.commit),
            steers=found.steers,
            links_out=links_out(view, facts, found.base, found.commit),
            patch=patch_of(view, facts, found) if patch else None,
            stat=stat_of(view, facts, found) if stat else None,
        )


def everybodys_change(root: Path, *, patch: bool = False, stat: bool = False) -> TaskChange:
    """Return how the working tree of the workspace differs from its HEAD.

    Raises NoRepository, GitMissing, GitRefused.
    """
    main = repository_of(root)
    facts = facts_of(root, main.top, main.top, "", main.commit)
    view = view_of(main.top)
    files = working_tree_files(view, facts)
    return TaskChange(
        is_tasks_own=False,
        base=None,
        commit=None,
        files=files,
        state_files=(),
        taking="",
        steers=steering_files(files),
        links_out=links_out_of_tree(main.top, files),
        patch=patch_of(view, facts, None) if patch else None,
        stat=stat_of(view, facts, None) if stat else None,
    )


@contextmanager
def _where(main: Repository, facts: CloneFacts) -> Iterator[tuple[View, str]]:
    """Give the view in which the task's last commit is to be seen, and that commit."""
    if facts.path.is_dir():
        commit = read_ref(real_git_dir(facts.path), f"refs/heads/{facts.branch}")
        if commit:
            with private_view(facts.path, main, reads_main=True) as view:
                yield view, commit
                return
    view = view_of(main.top)
    commit = view.commit_of(f"refs/heads/{facts.branch}")
    if commit is None:
        raise StateError(
            f"neither the task's branch {facts.branch} nor its clone {facts.path} exists any more",
            hint="If the branch was removed by accident, `git fsck --lost-found` may find its"
            " last commit.",
        )
    yield view, commit
