"""Entries of a commit that stand for another repository, and what lies in their folders."""

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from sow.git.merge_tree import GITLINK
from sow.git.run import LONG_SECONDS
from sow.git.view import View

MOST_FILES = 1000
"""So many files of a folder are named."""


def gitlinks(view: View) -> dict[str, str]:
    """Return the paths of the view's index that stand for another repository, with its commit."""
    records = view.records("ls-files", "-z", "--stage")
    split = (record.partition("\t") for record in records)
    return {path: facts.split()[1] for facts, _, path in split if facts.startswith(GITLINK)}


def is_repository(path: Path) -> bool:
    """Whether a folder has a git folder of its own, or names one."""
    return os.path.lexists(path / ".git")


def links_of(view: View, tree: str) -> dict[str, str]:
    """Return the same of a commit or tree. Raises GitRefused."""
    found = {}
    for record in view.records("ls-tree", "-r", "-z", "--full-tree", tree, seconds=LONG_SECONDS):
        facts, _, path = record.partition("\t")
        if facts.startswith(GITLINK):
            found[path] = facts.split()[2]
    return found


class Link(Struct, frozen=True):
    """A submodule's entry in the clone, before and after the project's branch came in."""

    path: str
    before: str
    """A commit of the submodule."""
    after: str


def links_between(
    view: View,
    old: str,
    conflicts: Collection[str] = (),
    after: Mapping[str, str] | None = None,
) -> tuple[Link, ...]:
    """Return entries that are not in conflict, with what a commit or tree has there before.

    `after` are the entries with their commits; those of `old` itself, if not given. Raises
    GitRefused.
    """
    before = links_of(view, old) if after is None or after else {}
    if after is None:
        after = before
    return tuple(
        Link(path, before.get(path, commit), commit)
        for path, commit in after.items()
        if path not in conflicts
    )


def files_in_empty_links(top: Path, links: Collection[str]) -> Iterator[str]:
    """Yield the files in folders of submodules that are not initialised: git sees none there."""
    for link in sorted(links):
        folder = top / link
        if folder.is_symlink() or not folder.is_dir() or is_repository(folder):
            continue
        yield from files_below(top, link, MOST_FILES)


def files_below(top: Path, folder: str, most: int) -> list[str]:
    """Return the files below a folder, at most so many; a repository in it is no part of that."""
    found: list[str] = []
    for at, folders, names in os.walk(top / folder):
        here = Path(at)
        names += [name for name in folders if (here / name).is_symlink()]
        folders[:] = [name for name in folders if not is_repository(here / name)]
        found += [os.path.relpath(here / name, top) for name in names]
        if len(found) >= most:
            return sorted(found[:most])
    return sorted(found)
