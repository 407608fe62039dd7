"""Which working tree has a branch checked out.

Owns that a repository's first working tree need not be the folder that git
names for it: where git's folder lies elsewhere (a submodule's, or one made
with `--separate-git-dir`) git names that folder, and a bare one has no tree.
"""

from pathlib import Path

from sow.errors import StateError
from sow.git.repository import Repository
from sow.git.view import View, view_of


def working_tree_of(main: Repository, branch: str) -> Path | None:
    """Return the working tree that has `branch` checked out; None where none has.

    Raises StateError, GitRefused.
    """
    view = view_of(main.top)
    for listed in view.text("worktree", "list", "--porcelain", "-z").split("\0\0"):
        tree = dict(line.partition(" ")[::2] for line in listed.split("\0"))
        folder = Path(tree.get("worktree", ""))
        if tree.get("branch") == f"refs/heads/{branch}" and "bare" not in tree and folder.is_dir():
            is_gits_own = folder.resolve() == main.common_dir
            return _first_tree(main, view, branch) if is_gits_own else folder
    return None


def _first_tree(main: Repository, view: View, branch: str) -> Path:
    if main.git_dir == main.common_dir:
        return main.top
    words = ("config", "--file", f"{main.common_dir}/config", "core.worktree")
    folder = view.text(*words, accepted=(0, 1))
    if not folder:
        raise StateError(
            f"the branch {branch} is checked out in the first working tree of {main.common_dir},"
            " and git does not say where that is",
            hint="Check out another branch there, or call from there.",
        )
    return (main.common_dir / folder).resolve()
