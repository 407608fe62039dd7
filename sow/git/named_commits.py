"""Which commits the names in a git folder lead to, read as files: no git is started.

Branches, tags, stashes, notes, what is checked out in each working tree, and
what only a reflog still names. Remote-tracking refs are told apart: another
repository has those commits.
"""

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from sow.git.inert_refs import COMMIT, UnsafeClone, read_head, read_ref, read_text

LOG_LIMIT = 1 << 24
FROM_ELSEWHERE = ("remotes", "prefetch")
AUTOSTASHES = ("MERGE_AUTOSTASH", "rebase-merge/autostash", "rebase-apply/autostash")
"""Where git notes a stash that it has made by itself, until the operation ends."""
UNFINISHED = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "REBASE_HEAD": "rebase",
    "rebase-merge/orig-head": "rebase",
    "rebase-apply/orig-head": "rebase",
}
"""Where git notes a commit that an operation works with, until that ends. `FETCH_HEAD` is left out:
another repository has its commits, as those of remote-tracking refs."""
BEFORE = "ORIG_HEAD"
"""What was checked out before the last reset, merge or rebase. There may be no reflog of it."""
CHECKED_OUT = "what is checked out"


class Logged(NamedTuple):
    """What reflogs name: all of it, and what whoever wrote it has replaced or taken back."""

    commits: frozenset[str]
    replaced: frozenset[str]
    """By an amended commit or by a rebase."""
    reset: frozenset[tuple[str, str]]
    """By a reset: the commit before, and the commit after."""


def named_commits(common_dir: Path) -> dict[str, str]:
    """Return what a repository's own names lead to. Raises UnsafeClone."""
    found = {}
    for name in sorted(_ref_names(common_dir)):
        commit = read_ref(common_dir, name)
        if commit is not None and name.split("/")[1] not in FROM_ELSEWHERE:
            found[name.removeprefix("refs/heads/").removeprefix("refs/")] = commit
    for _, new, _ in _log(common_dir, "logs/refs/stash"):
        found[f"stash {new[:12]}"] = new
    for folder, where in _git_dirs(common_dir):
        head = head_commit(folder, common_dir)
        if head:
            found[f"{CHECKED_OUT}{where}"] = head
        for name in _files_below(folder, "refs") if where else ():  # such as refs/worktree
            if commit := read_ref(folder, name):
                found[f"{name.removeprefix('refs/')}{where}"] = commit
        for name in AUTOSTASHES:
            for commit in _noted(folder, name):
                found[f"stash {commit[:12]}"] = commit
        for name, operation in UNFINISHED.items():
            for commit in _noted(folder, name):
                found[f"an unfinished {operation}{where} ({commit[:12]})"] = commit
    return found


def waiting_patches(common_dir: Path) -> Iterator[str]:
    """Yield, in words, where `git am` has patches that are in no commit yet. Raises UnsafeClone."""
    for folder, where in _git_dirs(common_dir):
        if read_text(folder, "rebase-apply/applying", LOG_LIMIT) is not None:
            yield f"patches that `git am` has not applied{where}"


def head_commit(git_dir: Path, common_dir: Path) -> str | None:
    """Return the commit that a working tree has checked out; None without one. UnsafeClone."""
    head = read_head(git_dir)
    if head.commit is None and head.branch is not None:
        return read_ref(common_dir, f"refs/heads/{head.branch}")
    return head.commit


def remote_commits(common_dir: Path, without: Collection[str] = ()) -> set[str]:
    """Return the commits of the remote-tracking refs, without some remotes'. Raises UnsafeClone."""
    left = tuple(f"refs/remotes/{remote}/" for remote in without)
    names = (name for name in _ref_names(common_dir) if name.split("/")[1] in FROM_ELSEWHERE)
    kept = (name for name in names if not name.startswith(left))
    return {commit for name in kept if (commit := read_ref(common_dir, name)) is not None}


def logged_commits(common_dir: Path) -> Logged:
    """Return what the reflogs of branches and of what is checked out name, and `ORIG_HEAD`.

    Raises UnsafeClone.
    """
    commits, replaced, reset = set[str](), set[str](), set[tuple[str, str]]()
    logs = [(common_dir, f"logs/{name}") for name in _log_names(common_dir)]
    logs += [(folder, "logs/HEAD") for folder, _ in _git_dirs(common_dir)]
    for folder, name in logs:
        for old, new, words in _log(folder, name):
            commits |= {old, new}
            action = words.partition(":")[0]
            if "rebase" in action or "(amend)" in action:
                replaced.add(old)
            elif action == "reset" or words.startswith("branch: Reset"):
                reset.add((old, new))
    for folder, _ in _git_dirs(common_dir):
        head = head_commit(folder, common_dir)
        for commit in _noted(folder, BEFORE):
            if head is not None and commit not in commits:
                commits.add(commit)
                reset.add((commit, head))
    none = {commit for commit in commits if not commit.strip("0")}
    return Logged(frozenset(commits - none), frozenset(replaced - none), frozenset(reset))


def _noted(folder: Path, name: str) -> list[str]:
    """Return the commits that a file of a git folder names, a line each."""
    text = read_text(folder, name, LOG_LIMIT) or ""
    return [line for line in text.split() if re.fullmatch(COMMIT, line)]


def _git_dirs(common_dir: Path) -> Iterator[tuple[Path, str]]:
    """Yield the git folder of each working tree, and how it is called."""
    yield common_dir, ""
    folder = common_dir / "worktrees"
    if not folder.is_symlink() and folder.is_dir():
        for path in sorted(folder.iterdir()):
            yield path, f" in the working tree {path.name}"


def _ref_names(common_dir: Path) -> set[str]:
    names = set(_files_below(common_dir, "refs"))
    for line in (read_text(common_dir, "packed-refs", LOG_LIMIT) or "").split("\n"):
        if found := re.match(r"[0-9a-f]{40,64} (refs/\S.*)", line):
            names.add(found[1])
    return names


def _log_names(common_dir: Path) -> Iterator[str]:
    if not (common_dir / "logs").is_symlink():
        yield from _files_below(common_dir / "logs", "refs/heads")


def _files_below(top: Path, name: str) -> Iterator[str]:
    if (top / name).is_symlink():
        raise UnsafeClone(top / name, "is a symbolic link to another place")
    for folder, _, files in os.walk(top / name):
        for file in files:
            yield os.path.relpath(f"{folder}/{file}", top)


def _log(folder: Path, name: str) -> Iterator[tuple[str, str, str]]:
    """Yield the lines of a reflog: the commit before, the commit after, and what was done."""
    for line in (read_text(folder, name, LOG_LIMIT) or "").split("\n"):
        facts, _, words = line.partition("\t")
        commits = facts.split(" ", 2)[:2]
        if len(commits) == 2 and all(re.fullmatch(COMMIT, word) for word in commits):
            yield commits[0], commits[1], words
