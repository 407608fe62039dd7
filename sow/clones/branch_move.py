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
    IndexEntries,
    foreign_paths,
    index_entries,
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
from sow.git.repository import Repository, branch_commit, working_tree_of
from sow.git.view import view_of
from sow.lifecycle.refusal_steps import first_after

KIND = "moving"
SHOWN = 12
LOOK_SECONDS = 0.05
PUT_ASIDE = "git stash push --include-untracked -- . ':!.sow'"
"""New files too. Not the state: sow puts that back, and `stash pop` refuses to write over it."""


class DirtyFiles(StateError):
    """The merge touches files that are changed in the checked-out working tree."""

    def __init__(self, folder: Path, paths: Sequence[str]) -> None:
        self.folder = folder
        self.paths = tuple(paths)
        names = text_of(paths, SHOWN)
        super().__init__(
            f"the merge would overwrite uncommitted changes in {folder}: {names}",
            hint="Nothing was changed. Commit them there, then merge again:"
            f" `{first_after(self)}`. Or put them aside first: `{PUT_ASIDE}`.",
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
    changes: Sequence[Change] | None = None,
) -> Moved:
    """Move `branch` from `old` to `new`, and the working tree that has it checked out, if any.

    `changes` are those between the two, where the caller has them. The caller holds the lock of
    the project's merges. Another git that is at work in the working tree is waited for, at most
    `patience` seconds. Raises DirtyFiles, BranchMoved, IndexInUse, StateError (nothing changed),
    GitRefused.
    """
    complete_move(main, branch)
    if branch_commit(main, branch) != old:
        raise BranchMoved(branch, old)
    if changes is None:
        changes = changes_between(view_of(main.top), old, new)
    tree = refuse_dirty(main, branch, changes, patience)
    write_json(note_path(main, KIND, branch), MoveNote(old, new))
    step("noted")
    try:
        words = ("update-ref", "--no-deref", "-m", reason, f"refs/heads/{branch}", new, old)
        with own_locks(main, *locks_of_branch(main, branch)):
            view_of(main.top).text(*words)
    except GitRefused as error:
        _refuse_unless_moved(main, branch, old, new, error)
    step("branch moved")
    left = _bring_along(main, tree.folder, changes, step, tree) if tree else ()
    remove_note(main, KIND, branch)
    return Moved(new, left)


def _refuse_unless_moved(
    main: Repository, branch: str, old: str, new: str, error: GitRefused
) -> None:
    """Look where a branch stands that git has not moved, by its own words.

    Nothing is wrong where it stands where it should. Raises BranchMoved where somebody has moved
    it, and git's own error where nobody has.
    """
    tip = branch_commit(main, branch)
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
        _wait_for_index(main, folder, patience)
    if folder and tip and tip != note.old and view.is_ancestor(note.new, tip):
        since = {change.path for change in changes_between(view, note.new, tip)}
        changes = changes_between(view, note.old, note.new)
        left = _bring_along(main, folder, [c for c in changes if c.path not in since], no_step)
    remove_note(main, KIND, branch)
    return left


def _bring_along(
    main: Repository,
    folder: Path,
    changes: Sequence[Change],
    step: Callable[[str], None],
    ready: "ReadyTree | None" = None,
) -> tuple[str, ...]:
    """Make some changes in the files and the index of a working tree, which was `ready` before."""
    view = view_of(folder)
    _wait_for_index(main, folder, 0.0)
    if ready is not None and ready.version == _index_version(main, folder) is not None:
        index = ready.index
    else:
        index = index_entries(view)
    own = set(staged_paths(index, changes))
    changes = [change for change in changes if change.path not in own]
    draft = _git_path(main, folder, "sow/draft")
    left = write_files(view, _written(folder, index, changes), draft)
    step("files written")
    with own_locks(main, _git_path(main, folder, "index.lock")):
        write_index(view, changes, index)
    step("index written")
    return tuple(sorted({*left, *own}))


class ReadyTree(Struct, frozen=True):
    """A working tree that a branch's move can bring along."""

    folder: Path
    index: IndexEntries
    version: tuple[int, ...] | None
    """What tells that index from a later one."""


def refuse_dirty(
    main: Repository, branch: str, changes: Sequence[Change], patience: float = 0.0
) -> ReadyTree | None:
    """Return the working tree that has a branch, where nothing in it is in the way of a move.

    `changes` are what the move changes. `patience` is that of `move_branch`. Raises DirtyFiles,
    IndexInUse, StateError, GitRefused.
    """
    folder = working_tree_of(main, branch)
    if folder is None:
        return None
    view = view_of(folder)
    _wait_for_index(main, folder, patience)
    version = _index_version(main, folder)
    index = index_entries(view)
    foreign = foreign_paths(view, _written(folder, index, changes))
    if dirty := sorted({*foreign, *staged_paths(index, changes)}):
        raise DirtyFiles(folder, dirty)
    return ReadyTree(folder, index, version)


def _index_version(main: Repository, folder: Path) -> tuple[int, ...] | None:
    """Return what tells the index of a working tree from a later one; None where git has to."""
    try:
        facts = _git_path(main, folder, "index").stat() if folder == main.top else None
    except OSError:
        return None
    return facts and (facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)


def _written(folder: Path, index: IndexEntries, changes: Sequence[Change]) -> list[Change]:
    """Return the changes to files that the working tree has: a sparse one lacks some."""
    hidden = not_checked_out(folder, index, changes)
    return [change for change in changes if change.path not in hidden]


def _wait_for_index(main: Repository, folder: Path, patience: float) -> None:
    """Wait until no other git is at work in a working tree. Raises IndexInUse."""
    lock = _git_path(main, folder, "index.lock")
    until = time.monotonic() + patience
    while lock.exists():
        if time.monotonic() >= until:
            raise IndexInUse(lock)
        time.sleep(LOOK_SECONDS)


def _git_path(main: Repository, folder: Path, name: str) -> Path:
    """Return a file of one working tree's own git folder. The main one's is known."""
    if folder == main.top:
        return main.git_dir / name
    return Path(view_of(folder).text("rev-parse", "--path-format=absolute", "--git-path", name))
