"""The project's branch moved to a new commit, and its checked-out working tree brought along.

First a note, then the branch by compare-and-swap, then the files, then the
index: whoever comes after a kill completes what the note says. Files that
somebody has changed are never written over: before the branch moves they are
the reason to refuse, after it they are left and named.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from sow.clones.bringing_along import (
    foreign_paths,
    not_checked_out,
    staged_paths,
    write_files,
    write_index,
)
from sow.clones.clone_facts import text_of
from sow.clones.own_locks import locks_of_branch, own_locks
from sow.clones.steps import no_step, note_path, read_json, remove_note, write_json
from sow.errors import StateError
from sow.git.git_errors import GitRefused
from sow.git.merge_tree import Change, changes_between
from sow.git.repository import Repository, working_tree_of
from sow.git.view import View, view_of
from sow.lifecycle.refusal_steps import first_after

KIND = "moving"
SHOWN = 12
LOOK_SECONDS = 0.05


class DirtyFiles(StateError):
    """The merge touches files that are changed in the checked-out working tree."""

    def __init__(self, folder: Path, paths: Sequence[str]) -> None:
        self.folder = folder
        self.paths = tuple(paths)
        names = text_of(paths, SHOWN)
        super().__init__(
            f"the merge would overwrite uncommitted changes in {folder}: {names}",
            hint="Nothing was changed. Commit them there, then merge again:"
            f" `{first_after(self)}`. Or put them aside first: `git stash`.",
        )


class BranchMoved(StateError):
    """Somebody else has moved the branch meanwhile."""

    passes = True

    def __init__(self, branch: str, expected: str) -> None:
        super().__init__(
            f"the branch {branch} is no longer at {expected[:12]}: it has new commits or was reset",
            hint="Nothing was changed. Merge again; sow then uses the branch's new commit.",
        )


class IndexInUse(StateError):
    """Another git is at work in the checked-out working tree."""

    passes = True

    def __init__(self, lock: Path) -> None:
        super().__init__(
            f"another git process works there: {lock} exists",
            hint="Wait until it ends, then merge again; a batch continues by itself. If no git"
            " process runs there, remove that file.",
        )


class MoveNote(Struct, frozen=True):
    """What is being done: the branch goes from one commit to another."""

    old: str
    new: str


class Moved(Struct, frozen=True):
    """Where the branch is now, and what its working tree lacks."""

    commit: str
    left: tuple[str, ...] = ()
    """Files that somebody changed in the very moment, and that were left as they are."""


def move_branch(
    main: Repository,
    branch: str,
    old: str,
    new: str,
    *,
    reason: str = "sow: merge",
    step: Callable[[str], None] = no_step,
    patience: float = 0.0,
) -> Moved:
    """Move `branch` from `old` to `new`, and the working tree that has it checked out, if any.

    The caller holds the lock of the project's merges. Another git that is at work in the working
    tree is waited for, at most `patience` seconds. Raises DirtyFiles, BranchMoved,
    IndexInUse, StateError (nothing changed), GitRefused.
    """
    complete_move(main, branch)
    if view_of(main.top).commit_of(f"refs/heads/{branch}") != old:
        raise BranchMoved(branch, old)
    folder = refuse_dirty(main, branch, old, new, patience)
    write_json(note_path(main, KIND, branch), MoveNote(old, new))
    step("noted")
    try:
        words = ("update-ref", "--no-deref", "-m", reason, f"refs/heads/{branch}", new, old)
        with own_locks(main, *locks_of_branch(main, branch)):
            view_of(main.top).text(*words)
    except GitRefused as error:
        _refuse_unless_moved(main, branch, old, new, error)
    step("branch moved")
    left = _bring_along(main, folder, old, new, new, step) if folder else ()
    remove_note(main, KIND, branch)
    return Moved(new, left)


def _refuse_unless_moved(
    main: Repository, branch: str, old: str, new: str, error: GitRefused
) -> None:
    """Look where a branch stands that git has not moved, by its own words.

    Nothing is wrong where it stands where it should. Raises BranchMoved where somebody has moved
    it, and git's own error where nobody has.
    """
    tip = view_of(main.top).commit_of(f"refs/heads/{branch}")
    if tip == new:
        return
    remove_note(main, KIND, branch)
    if tip == old:
        raise error
    raise BranchMoved(branch, old) from error


def complete_move(main: Repository, branch: str, *, patience: float = 0.0) -> tuple[str, ...]:
    """Complete what a kill has interrupted; return the files that were left as somebody's own.

    `patience` is that of `move_branch`. Nothing is done where the branch was not moved yet.
    Raises IndexInUse, GitRefused.
    """
    note = read_json(note_path(main, KIND, branch), MoveNote)
    if note is None:
        return ()
    left: tuple[str, ...] = ()
    view = view_of(main.top)
    tip = view.commit_of(f"refs/heads/{branch}")
    folder = working_tree_of(main, branch)
    if folder:
        _wait_for_index(view_of(folder), patience)
    if folder and tip and tip != note.old and view.is_ancestor(note.new, tip):
        left = _bring_along(main, folder, note.old, note.new, tip, no_step)
    remove_note(main, KIND, branch)
    return left


def _bring_along(
    main: Repository, folder: Path, old: str, new: str, tip: str, step: Callable[[str], None]
) -> tuple[str, ...]:
    """Bring files and index from `old` to `new`, save for what changed on the way to `tip`."""
    view = view_of(folder)
    _wait_for_index(view, 0.0)
    since = {change.path for change in changes_between(view, new, tip)} if tip != new else set()
    changes = [c for c in changes_between(view, old, new) if c.path not in since]
    own = set(staged_paths(view, changes))
    changes = [change for change in changes if change.path not in own]
    left = write_files(view, _written(view, changes), _git_path(view, "sow/draft"))
    step("files written")
    with own_locks(main, _git_path(view, "index.lock")):
        write_index(view, changes)
    step("index written")
    return tuple(sorted({*left, *own}))


def refuse_dirty(
    main: Repository, branch: str, old: str, new: str, patience: float = 0.0
) -> Path | None:
    """Return the working tree that has a branch, where nothing in it is in the way of a move.

    `patience` is that of `move_branch`. Raises DirtyFiles, IndexInUse, StateError,
    GitRefused.
    """
    folder = working_tree_of(main, branch)
    if folder is not None:
        view = view_of(folder)
        _wait_for_index(view, patience)
        changes = changes_between(view, old, new)
        foreign = foreign_paths(view, _written(view, changes))
        if dirty := sorted({*foreign, *staged_paths(view, changes)}):
            raise DirtyFiles(folder, dirty)
    return folder


def _written(view: View, changes: Sequence[Change]) -> list[Change]:
    """Return the changes to files that the working tree has: a sparse one lacks some."""
    hidden = not_checked_out(view, changes)
    return [change for change in changes if change.path not in hidden]


def _wait_for_index(view: View, patience: float) -> None:
    """Wait until no other git is at work in a working tree. Raises IndexInUse."""
    lock = _git_path(view, "index.lock")
    until = time.monotonic() + patience
    while lock.exists():
        if time.monotonic() >= until:
            raise IndexInUse(lock)
        time.sleep(LOOK_SECONDS)


def _git_path(view: View, name: str) -> Path:
    return Path(view.text("rev-parse", "--path-format=absolute", "--git-path", name))
