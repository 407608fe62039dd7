"""Versions of files that lie in git's index alone: no commit has them, and no file.

Whoever stages a file and then changes or removes it has replaced that version. So it is told
before a clone goes, and is no reason to keep one. The index is the agent's: git reads a copy of it
through a view in which nothing of the repository acts.
"""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from sow.clones.bringing_along import unlike
from sow.clones.kept_commits import types_of
from sow.files import read_if_there
from sow.files.scratch import scratch_folder
from sow.git.git_errors import GitRefused
from sow.git.merge_tree import EMPTY_TREE, GITLINK, changes_in
from sow.git.private_view import INDEX, view_folder
from sow.git.run import LONG_SECONDS
from sow.git.view import View

INDEX_LIMIT = 1 << 28
SHARED = "sharedindex."
"""How the files are called in which git keeps the larger part of a split index."""
ODD = frozenset({"", ".", "..", ".git"})


class Staged(Struct, frozen=True):
    """The paths of which an index has another version than the commit that is checked out."""

    alone: tuple[str, ...] = ()
    """Those of which no file has that version."""
    in_files: tuple[str, ...] = ()


def staged_versions(view: View, git_dir: Path, commit: str | None) -> Staged:
    """Return what is staged in the index of a git folder, less what is a conflict's.

    `commit` is what is checked out. Raises GitRefused.
    """
    try:
        entries = list(_entries(view, git_dir, commit))
    except GitRefused as error:
        if error.passes:
            raise
        return Staged()  # damaged: git itself cannot tell what is in it
    there = types_of(view, {name for _, _, name in entries})
    entries = [entry for entry in entries if entry[2] in there]
    alone = unlike(view, entries)
    paths = {path for path, _, _ in entries}
    return Staged(tuple(sorted(alone)), tuple(sorted(paths - alone)))


def _entries(view: View, git_dir: Path, commit: str | None) -> Iterator[tuple[str, str, str]]:
    """Yield path, mode and object of each file that is staged otherwise than the commit has it."""
    data = read_if_there(git_dir / INDEX, INDEX_LIMIT)
    if data is None:
        return
    for path in git_dir.glob(f"{SHARED}*"):
        shared = read_if_there(path, INDEX_LIMIT)
        if shared is not None:
            (view_folder(view) / path.name).write_bytes(shared)
    base = commit or view.text(*EMPTY_TREE, stdin=b"")
    with scratch_folder("index") as scratch:
        (scratch / INDEX).write_bytes(data)
        words = ("diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", base)
        index = {"GIT_INDEX_FILE": str(scratch / INDEX)}
        records = view.records(*words, variables=index, seconds=LONG_SECONDS)
    for change in changes_in(records):
        is_file = change.will_be_there and change.new_mode != GITLINK and change.new.strip("0")
        if is_file and ODD.isdisjoint(change.path.split("/")):
            yield change.path, change.new_mode, change.new
