"""What stands against removing a clone: work that would be lost with it, or is not merged yet.

Owns that judgement. The clone is the agent's: it is looked at through a private
view, and its refs are read as files.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from sow.clones.merging import is_merged
from sow.clones.place import Place
from sow.clones.work_tree import COPIED, STATE, work_tree
from sow.git.git_errors import GitRefused
from sow.git.inert_refs import COMMIT, UnsafeClone, read_head, read_ref, read_text
from sow.git.private_view import private_view, real_git_dir
from sow.git.repository import Repository
from sow.git.view import View, view_of

LOG_LIMIT = 1 << 24
MOST_NAMED = 5
"""How many files or branches a sentence names."""
OWN_REFS = ("heads", "tags", "stash", "notes")
"""What agents make; `refs/remotes` came from elsewhere."""


class Standing(Struct, frozen=True):
    """What would be lost with a clone, or is not merged. All empty: it can go."""

    uncommitted: tuple[str, ...] = ()
    """Files that are in no commit."""
    unbrought: tuple[str, ...] = ()
    """The clone's own branches and stashes with commits that the repository does not have."""
    unmerged: str | None = None
    """The task's commit that is not in the project's branch."""
    unknown: str = ""
    """Why nobody can tell, in words."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """All of it, in a few words each."""
        found = []
        if self.unknown:
            found.append(f"cannot be judged: {self.unknown}")
        if self.uncommitted:
            found.append(f"uncommitted: {_named(self.uncommitted)}")
        if self.unbrought:
            found.append(f"not in the repository: {_named(self.unbrought)}")
        if self.unmerged:
            found.append(f"not merged: {self.unmerged[:12]}")
        return tuple(found)


def _named(names: Sequence[str]) -> str:
    rest = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def standing(
    place: Place,
    main: Repository,
    project: str,
    *,
    withheld: Sequence[str] = (),
    remembered: str | None = None,
) -> Standing:
    """Return what stands against removing the clone at a place.

    `project` is the commit of the project's branch, `withheld` the files that
    sow copied into the clone, `remembered` the task's commit that was merged in
    another form. Nothing of the clone acts. Raises nothing for what it holds, and
    GitRefused for a fault that passes.
    """
    tip = view_of(main.top).commit_of(f"refs/heads/{place.branch}")
    try:
        git_dir = real_git_dir(place.path)
        tip = read_ref(git_dir, f"refs/heads/{place.branch}") or tip
        uncommitted = _uncommitted(place, main, git_dir, withheld)
        unbrought = _unbrought(main, git_dir)
    except UnsafeClone as error:
        return Standing(unknown=error.message)
    except GitRefused as error:
        if error.passes:
            raise
        return Standing(unknown=error.message.splitlines()[-1])
    merged = tip is None or _is_merged(main, project, tip, remembered)
    return Standing(uncommitted, unbrought, None if merged else tip)


def unmerged(
    place: Place, main: Repository, project: str, remembered: str | None = None
) -> str | None:
    """Return the commit of a task's branch in the repository, where it is not merged."""
    tip = view_of(main.top).commit_of(f"refs/heads/{place.branch}")
    return None if tip is None or _is_merged(main, project, tip, remembered) else tip


def _is_merged(main: Repository, project: str, tip: str, remembered: str | None) -> bool:
    if view_of(main.top).commit_of(tip) is None:
        return False
    return is_merged(main, project, tip, remembered)


def _uncommitted(
    place: Place, main: Repository, git_dir: Path, withheld: Sequence[str]
) -> tuple[str, ...]:
    head = read_head(git_dir)
    with private_view(place.path, main) as view:
        here = view.commit_of(head.commit) if head.commit else None
        if here is None:
            raise UnsafeClone(git_dir, "has no commit checked out")
        found = work_tree(view, place.facts(here), here, withheld)
    lost = [
        path
        for untaken in found.untaken
        if untaken.reason not in (COPIED, STATE)
        for path in untaken.paths
    ]
    return tuple(sorted({*found.paths, *lost}))


def _unbrought(main: Repository, git_dir: Path) -> tuple[str, ...]:
    """Return the names in the clone whose commits no name in the repository leads to."""
    view = view_of(main.top)
    commits = _named_commits(git_dir)
    known = {commit: _is_reachable(view, commit) for commit in set(commits.values())}
    return tuple(name for name, commit in commits.items() if not known[commit])


def _is_reachable(view: View, commit: str) -> bool:
    if view.commit_of(commit) is None:
        return view.answer("cat-file", "-e", commit)[0] == 0
    return not view.text("rev-list", "--max-count=1", commit, "--not", "--all")


def _named_commits(git_dir: Path) -> dict[str, str]:
    """Return what the clone's own names lead to: branches, tags, stashes, and what is checked out.

    Raises UnsafeClone.
    """
    found = {}
    head = read_head(git_dir)
    if head.commit:
        found["what is checked out"] = head.commit
    for name in sorted(_ref_names(git_dir)):
        commit = read_ref(git_dir, name)
        if commit is not None:
            found[name.removeprefix("refs/heads/").removeprefix("refs/")] = commit
    log = read_text(git_dir, "logs/refs/stash", LOG_LIMIT) or ""
    for line in log.splitlines():
        words = line.split(" ", 2)
        if len(words) == 3 and COMMIT.fullmatch(words[1]):
            found[f"stash {words[1][:12]}"] = words[1]
    return found


def _ref_names(git_dir: Path) -> set[str]:
    names: set[str] = set()
    for folder, _, files in os.walk(git_dir / "refs"):
        names.update(os.path.relpath(f"{folder}/{file}", git_dir) for file in files)
    for line in (read_text(git_dir, "packed-refs", LOG_LIMIT) or "").split("\n"):
        if found := re.match(r"[0-9a-f]{40,64} (refs/\S.*)", line):
            names.add(found[1])
    return {name for name in names if name.split("/")[1] in OWN_REFS}
