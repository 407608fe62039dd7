"""The repositories that lie inside a clone, found by its folders: no git is started.

Submodules, linked working trees, repositories that an agent has made or cloned
there, in folders that git ignores too, and bare ones. No link is followed.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct, field

GIT = ".git"
BARE = frozenset({"HEAD", "objects", "refs"})
"""A folder with these names is a git folder."""
GITS_OWN = frozenset({"objects", "refs", "logs", "hooks", "info", "modules", "worktrees"})
"""Folders of a git folder in which git has its own things, or which are looked at elsewhere."""
MOST_ENTRIES = 2_000_000
"""So many files and folders are looked at; a clone with more counts as one that holds work."""


class InnerPlaces(Struct):
    """Where repositories lie inside a clone, relative to its top."""

    work_trees: list[str] = field(default_factory=list)
    """Folders, other than the top, that have a `.git`."""
    bare: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    """Folders that could not be looked at."""
    is_cut_short: bool = False


def inner_places(clone: Path) -> InnerPlaces:
    """Return where repositories lie in the working tree of a clone. Raises nothing."""
    found = InnerPlaces()
    folders, count = [""], 0
    while folders:
        folder = folders.pop()
        try:
            entries = _entries(clone / folder)
        except OSError:
            found.unread.append(folder or ".")
            continue
        count += len(entries)
        if count > MOST_ENTRIES:
            found.is_cut_short = True
            return found
        names = {entry.name for entry in entries}
        if folder and GIT in names:
            found.work_trees.append(folder)
        elif folder and names >= BARE:
            found.bare.append(folder)
            continue
        folders += [
            f"{folder}/{entry.name}" if folder else entry.name
            for entry in entries
            if entry.name != GIT and entry.is_dir(follow_symlinks=False)
        ]
    return found


def modules_of(git_dir: Path) -> Iterator[Path]:
    """Yield the git folders of submodules that a git folder keeps, those of theirs included."""
    above = [git_dir / "modules"]
    with_trees = git_dir / "worktrees"
    if with_trees.is_dir() and not with_trees.is_symlink():
        above += [path / "modules" for path in with_trees.iterdir()]
    while above:
        folder = above.pop()
        if folder.is_symlink() or not folder.is_dir():
            continue
        names = {entry.name for entry in _entries(folder)}
        if names >= BARE:
            yield folder
            yield from modules_of(folder)
        else:
            above += [folder / name for name in names]


def inside_git(git_dir: Path) -> Iterator[Path]:
    """Yield the repositories that somebody has put into a git folder, beside what git keeps there.

    A copy of it that an agent has made for safety, say.
    """
    folders = [entry.name for entry in _entries(git_dir) if entry.is_dir(follow_symlinks=False)]
    for name in sorted(set(folders) - GITS_OWN):
        places = inner_places(git_dir / name)
        yield from (git_dir / name / folder for folder in places.bare)
        yield from (git_dir / name / folder / GIT for folder in places.work_trees)
        if {entry.name for entry in _entries(git_dir / name)} >= BARE:
            yield git_dir / name


def _entries(folder: Path) -> list["os.DirEntry[str]"]:
    with os.scandir(folder) as entries:
        return list(entries)
