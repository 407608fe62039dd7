"""Which working tree has a branch checked out.

Owns that a repository's first working tree need not be the folder that git
names for it: where git's folder lies elsewhere (a submodule's, or one made
with `--separate-git-dir`) git names that folder, and a bare one has no tree.
"""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from sow.errors import StateError
from sow.git.repository import Repository
from sow.git.view import View, view_of


class _Tree(Struct):
    folder: str
    branch: str = ""
    is_bare: bool = False


def working_tree_of(main: Repository, branch: str) -> Path | None:
    """Return the working tree that has `branch` checked out; None where none has.

    Raises StateError, GitRefused.
    """
    view = view_of(main.top)
    for tree in _trees(view):
        folder = Path(tree.folder)
        if tree.branch == f"refs/heads/{branch}" and not tree.is_bare and folder.is_dir():
            is_gits_own = folder.resolve() == main.common_dir
            return _first_tree(main, view, branch) if is_gits_own else folder
    return None


def _trees(view: View) -> Iterator[_Tree]:
    found: _Tree | None = None
    for record in view.records("worktree", "list", "--porcelain", "-z"):
        key, _, value = record.partition(" ")
        if key == "worktree":
            if found is not None:
                yield found
            found = _Tree(value)
        elif found is not None and key == "branch":
            found.branch = value
        elif found is not None and key == "bare":
            found.is_bare = True
    if found is not None:
        yield found


def _first_tree(main: Repository, view: View, branch: str) -> Path:
    if main.git_dir == main.common_dir:
        return main.top
    words = ("config", "--file", f"{main.common_dir}/config", "core.worktree")
    folder = view.text(*words, accepted=(0, 1))
    if not folder:
        raise StateError(
            f"the branch {branch} is checked out in the first working tree of {main.common_dir},"
            " and git"
            " does not say where that is",
            hint="Check out another branch there, or call from there.",
        )
    return (main.common_dir / folder).resolve()
