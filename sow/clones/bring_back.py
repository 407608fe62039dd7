"""A task's branch, fetched from its clone into the main repository, so that people see it there.

Of the main repository only that one branch changes, and objects (Git LFS's too) are added:
nothing of the clone's own settings is read, no reflog and no FETCH_HEAD is
written, no other ref moves.
"""

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from shlex import quote as quote_word
from urllib.parse import quote

from msgspec import Struct

from sow.clones.clone_facts import CloneFacts
from sow.clones.own_locks import locks_of_branch, own_locks
from sow.clones.place import refuse_branch_in_the_way
from sow.clones.steps import no_step
from sow.errors import StateError
from sow.files import read_if_there, write_atomically
from sow.git.inert_refs import UnsafeClone, read_ref
from sow.git.private_view import name_commit, private_view, real_git_dir, view_folder
from sow.git.repository import Repository, branch_commit, working_tree_of
from sow.git.run import FETCH, LONG_SECONDS
from sow.git.view import View, view_of

PLACE = Path("lfs") / "objects"
NAME = re.compile(r"[0-9a-f]{64}")
PIECE = 1 << 20
NOTES = "sow/brought"
"""Below the git folder: for each task's branch the commits that sow itself has put there."""
NOTE_LIMIT = 4096
UNLOGGED = ("-c", "core.logAllRefUpdates=false")
CHECKED = (
    *UNLOGGED,
    *("-c", "fetch.fsckObjects=true", "-c", "transfer.fsckObjects=true"),
    *("-c", "fetch.writeCommitGraph=false"),
)


def bring_large_files(facts: CloneFacts, main: Repository) -> tuple[str, ...]:
    """Copy what the clone's Git LFS has and the main repository's has not; return the names.

    Done twice, it copies nothing more. Raises UnsafeClone, OSError (a full disk).
    """
    git_dir = real_git_dir(facts.path)
    source = git_dir / PLACE
    if source.is_symlink() or source.parent.is_symlink():
        raise UnsafeClone(source, "is a symbolic link to another place")
    brought = []
    for folder, _, names in os.walk(source):  # follows no link to a folder
        for name in filter(NAME.fullmatch, names):
            target = main.common_dir / PLACE / name[:2] / name[2:4] / name
            if not target.exists() and _copied(Path(folder, name), target):
                brought.append(name)
    return tuple(sorted(brought))


def _copied(source: Path, target: Path) -> bool:
    """Copy a file that holds what its name says; whether it did."""
    from hashlib import sha256  # it loads OpenSSL, and most clones hold no such file

    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(source, flags)
    except OSError:  # a link, or a pipe
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.urandom(6).hex()}.sow")
    digest = sha256()
    try:
        with os.fdopen(descriptor, "rb") as file, draft.open("xb") as copy:
            while piece := file.read(PIECE):
                digest.update(piece)
                copy.write(piece)
        if digest.hexdigest() != target.name:
            return False
        draft.replace(target)
        return True
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()


class BranchInTheWay(StateError):
    """The branch cannot have the commit that its clone has, because of somebody's own work."""

    def __init__(self, branch: str, why: str, command: str, hint: str) -> None:
        self.branch = branch
        self.command = command
        super().__init__(f"the branch {branch} {why}", hint=hint.format(command))


class BroughtBack(Struct, frozen=True):
    """A task's branch as it is in the main repository now."""

    commit: str
    former: str | None
    """What it named before; None where it was not there."""
    is_rewritten: bool = False
    """Whether the agent has rewritten its own branch: `former` is no part of it any more."""


def bring_back(
    facts: CloneFacts,
    main: Repository,
    *,
    step: Callable[[str], None] = no_step,
    made: tuple[str, str] | None = None,
) -> BroughtBack | None:
    """Fetch the clone's branch into the main repository; None where the clone has none.

    `made` are a commit of the branch and one that the main repository has just made of it.
    A commit that somebody has put on the branch in the main repository is never
    lost: BranchInTheWay. Raises BranchInPlaceOfFolder, UnsafeClone, GitRefused (also for
    objects that `git fsck` refuses).
    """
    git_dir = real_git_dir(facts.path)
    commit = read_ref(git_dir, f"refs/heads/{facts.branch}")
    if commit is None:
        return None
    view = view_of(main.top)
    former = branch_commit(main, facts.branch)
    if former == commit:
        return BroughtBack(commit, former)
    if former is None:  # a branch that is there has nothing in its way
        refuse_branch_in_the_way(main, facts.branch)
    _refuse_checked_out(main, facts.branch)
    is_here = made == (former, commit)
    if not is_here:
        with private_view(facts.path, main) as clone:
            fetch_objects(view, clone, commit)
    step("objects fetched")
    bring_large_files(facts, main)
    step("large files brought")
    return _moved(facts, main, commit, former, step=step, is_here=is_here)


def take_in(facts: CloneFacts, main: Repository, commit: str) -> BroughtBack:
    """Have the task's branch name a commit that came from elsewhere and is in the repository.

    As `bring_back` does it: a commit that somebody has put on the branch is never lost.
    Raises BranchInTheWay, BranchInPlaceOfFolder, GitRefused.
    """
    former = branch_commit(main, facts.branch)
    if former == commit:
        return BroughtBack(commit, former)
    if former is None:
        refuse_branch_in_the_way(main, facts.branch)
    _refuse_checked_out(main, facts.branch)
    return _moved(facts, main, commit, former)


def _moved(
    facts: CloneFacts,
    main: Repository,
    commit: str,
    former: str | None,
    *,
    step: Callable[[str], None] = no_step,
    is_here: bool = False,
) -> BroughtBack:
    """Move the branch on; `is_here` tells that the main repository has made the commit itself."""
    view = view_of(main.top)
    rewritten = not is_here and former is not None and not view.is_ancestor(former, commit)
    if rewritten and former is not None:
        _refuse_foreign(facts, main, former)
    _note(main, facts.branch, [commit] if former is None else [former, commit])
    step("noted")
    ref = f"refs/heads/{facts.branch}"
    with own_locks(main, *locks_of_branch(main, facts.branch)):
        view.text(*UNLOGGED, "update-ref", "--no-deref", ref, commit, former or "0" * len(commit))
    step("branch moved")
    return BroughtBack(commit, former, rewritten)


def refuse_in_the_way(facts: CloneFacts, main: Repository) -> None:
    """Raise what `bring_back` would be refused with now, without bringing anything.

    Raises BranchInTheWay, BranchInPlaceOfFolder, UnsafeClone, GitRefused.
    """
    commit = read_ref(real_git_dir(facts.path), f"refs/heads/{facts.branch}")
    former = branch_commit(main, facts.branch)
    if commit is None or former == commit:
        return
    if former is None:
        refuse_branch_in_the_way(main, facts.branch)
    _refuse_checked_out(main, facts.branch)
    if former is not None:
        with private_view(facts.path, main) as clone:
            if clone.commit_of(former) is None or not clone.is_ancestor(former, commit):
                _refuse_foreign(facts, main, former)


def _refuse_foreign(facts: CloneFacts, main: Repository, former: str) -> None:
    """Raise BranchInTheWay where the branch holds what neither its clone nor sow has put there."""
    if former not in _own_commits(main, facts.branch) and former != facts.base:
        raise BranchInTheWay(
            facts.branch,
            "has commits in the main repository that the clone does not have",
            f'git branch -m {facts.branch} "<another name>"',
            "Keep them under another name (`{}`), then run the command again.",
        )


def fetch_objects(view: View, clone: View, commit: str) -> None:
    """Fetch a commit and all that it needs from a private view. Raises GitRefused."""
    name = "refs/heads/brought"
    name_commit(clone, name, commit)
    source = str(view_folder(clone))
    view.text(*CHECKED, *FETCH, "--refmap=", source, name, seconds=LONG_SECONDS)


def _refuse_checked_out(main: Repository, branch: str) -> None:
    """Raise BranchInTheWay where a working tree has the branch: its files would seem changed."""
    folder = working_tree_of(main, branch)
    if folder is not None:
        raise BranchInTheWay(
            branch,
            f"is checked out in {folder}, so sow cannot update it with the new commits",
            f"git -C {quote_word(str(folder))} switch --detach",
            "Check out another branch there, or detach it: `{}`.",
        )


def _note_path(main: Repository, branch: str) -> Path:
    return main.common_dir / NOTES / quote(branch, safe="")


def _own_commits(main: Repository, branch: str) -> list[str]:
    """Return which commits sow has put on the branch last, or was about to."""
    return (read_if_there(_note_path(main, branch), NOTE_LIMIT) or b"").decode().split()


def _note(main: Repository, branch: str, commits: list[str]) -> None:
    path = _note_path(main, branch)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, "".join(f"{commit}\n" for commit in commits).encode())
