"""What a check judges: the commit that is checked out where it runs, and whether files differ.

A clone that an agent has had is asked by git folders of our own alone, so that
it cannot say by its settings what is not so. Runs no hook and changes nothing.
"""

from pathlib import Path
from typing import NamedTuple

import msgspec

from sow.clones.clone_facts import CloneFacts
from sow.clones.work_tree import work_tree
from sow.git.git_errors import GitMissing, GitRefused, NoRepository
from sow.git.inert_refs import UnsafeClone, read_head, read_ref
from sow.git.private_view import private_view, real_git_dir
from sow.git.repository import repository_of
from sow.git.run import LONG_SECONDS, git
from sow.git.view import view_of

SOWS_OWN = ":(exclude).sow"
"""The project's state changes all the time, and is not what a check judges."""


class ClonePlace(msgspec.Struct, frozen=True, kw_only=True):
    """The clone that a check runs in."""

    workspace: str
    """The root of the workspace that the task belongs to."""
    path: str
    branch: str
    base: str
    inside: str
    """The workspace's root, relative to its repository's."""
    copied: tuple[str, ...] = ()
    """What sow itself has copied there, by the settings of the user's own checkout."""


class Judged(NamedTuple):
    """What is checked out. `commit` is None where nobody can tell: no git, or no commit."""

    commit: str | None
    dirty: bool


def judged(folder: Path, clone: ClonePlace | None) -> Judged:
    """Return what is checked out in a folder of the user's repository, or in a task's clone."""
    try:
        return _in_repository(folder) if clone is None else _in_clone(clone)
    except GitRefused as error:
        if error.passes:
            raise
        return Judged(None, dirty=False)
    except (GitMissing, NoRepository, UnsafeClone):
        return Judged(None, dirty=False)


def checked_out(folder: Path, clone: ClonePlace | None) -> str | None:
    """Return the commit alone of what `judged` returns, as it is now.

    In a clone that is the commit that its HEAD names: it is compared with one that is known.
    """
    try:
        if clone is None:
            return view_of(folder).commit_of("HEAD")
        return read_head(real_git_dir(Path(clone.path))).commit
    except GitRefused as error:
        if error.passes:
            raise
    except (GitMissing, UnsafeClone):
        pass
    return None


def off_branch(clone: ClonePlace | None, here: Judged) -> str:
    """Return why a clone's check would say nothing of the task's work; empty where it would.

    What is reviewed and merged is the last commit of the task's branch. An agent may have
    checked out another one: a check of that would let what nobody has checked be merged.
    """
    if clone is None or here.commit is None:
        return ""
    tip = read_ref(real_git_dir(Path(clone.path)), f"refs/heads/{clone.branch}")
    if tip is None or tip == here.commit:
        return ""
    return (
        f"the clone has {here.commit[:12]} checked out, but the task's branch {clone.branch} is"
        f" at {tip[:12]}. Check out the branch, with all work on it"
    )


def _in_repository(folder: Path) -> Judged:
    commit = view_of(folder).commit_of("HEAD")
    if commit is None:
        return Judged(None, dirty=False)
    words = ("status", "--porcelain", "--ignore-submodules=none", "--", ".", SOWS_OWN)
    return Judged(commit, bool(git(folder, *words, seconds=LONG_SECONDS)))


def _in_clone(clone: ClonePlace) -> Judged:
    path = Path(clone.path)
    facts = CloneFacts(path, clone.branch, clone.base, clone.inside)
    git_dir = real_git_dir(path)
    head = read_head(git_dir)
    with private_view(path, repository_of(Path(clone.workspace))) as view:
        commit = view.commit_of(head.commit) if head.commit else None
        if commit is None:
            return Judged(None, dirty=True)
        return Judged(commit, dirty=bool(work_tree(view, facts, commit, clone.copied).paths))
