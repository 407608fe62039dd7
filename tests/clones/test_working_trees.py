"""The branch moves and its working tree follows, wherever git keeps its own folder."""

from pathlib import Path

import pytest
from clones.clone_site import name_author, plain

from sow.clones.branch_move import move_branch
from sow.errors import StateError
from sow.git.repository import repository_of

pytestmark = pytest.mark.slow  # process after process
FILE = "protocol.file.allow=always"


def two_commits(folder: Path) -> tuple[str, str]:
    """Make a branch `main` that is at the first of two commits; return both."""
    for text in ("one\n", "two\n"):
        (folder / "file").write_text(text)
        plain(folder, "add", "-A")
        plain(folder, "commit", "-q", "-m", text)
    old, new = plain(folder, "rev-parse", "HEAD~1"), plain(folder, "rev-parse", "HEAD")
    plain(folder, "reset", "-q", "--hard", old)
    return old, new


def make(base: Path, *words: str) -> Path:
    base.mkdir(parents=True, exist_ok=True)
    plain(base, "init", "-q", "-b", "main", *words)
    name_author(base)
    return base


def follows(folder: Path, tree: Path, old: str, new: str) -> None:
    """A call made in `folder` moves `main`, and the files of `tree` with it."""
    move_branch(repository_of(folder), "main", old, new)
    assert plain(folder, "rev-parse", "refs/heads/main") == new
    assert (tree / "file").read_text() == "two\n"
    assert plain(tree, "status", "--porcelain") == ""


@pytest.fixture
def submodule(tmp_path):
    inner = make(tmp_path / "inner")
    commits = two_commits(inner)
    outer = make(tmp_path / "outer")
    plain(outer, "-c", FILE, "submodule", "--quiet", "add", str(inner), "sub")
    plain(outer / "sub", "fetch", "-q", str(inner), commits[1])
    return outer / "sub", *commits


def test_a_submodule_follows(submodule):
    folder, old, new = submodule
    follows(folder, folder, old, new)


def test_a_submodule_follows_what_is_merged_beside_it(submodule, tmp_path):
    folder, old, new = submodule
    plain(folder, "worktree", "add", "-q", "-b", "other", str(tmp_path / "beside"))
    follows(tmp_path / "beside", folder, old, new)


def test_a_tree_whose_git_folder_lies_elsewhere_follows(tmp_path):
    folder = make(tmp_path / "tree", "--separate-git-dir", str(tmp_path / "git"))
    old, new = two_commits(folder)
    follows(folder, folder, old, new)


def test_one_that_nobody_can_find_is_told_before_anything_moves(tmp_path):
    folder = make(tmp_path / "tree", "--separate-git-dir", str(tmp_path / "git"))
    old, new = two_commits(folder)
    plain(folder, "worktree", "add", "-q", "-b", "other", str(tmp_path / "beside"))
    with pytest.raises(StateError, match="is checked out in the first working tree of"):
        move_branch(repository_of(tmp_path / "beside"), "main", old, new)
    assert plain(folder, "rev-parse", "refs/heads/main") == old


def test_a_bare_repository_s_own_branch_moves_alone(tmp_path):
    origin = make(tmp_path / "origin")
    old, new = two_commits(origin)
    plain(tmp_path, "clone", "-q", "--bare", str(origin), "bare")
    plain(tmp_path / "bare", "fetch", "-q", str(origin), new)
    plain(tmp_path / "bare", "worktree", "add", "-q", "-b", "other", str(tmp_path / "beside"))
    move_branch(repository_of(tmp_path / "beside"), "main", old, new)
    assert plain(tmp_path / "bare", "rev-parse", "main") == new
    assert plain(tmp_path / "beside", "status", "--porcelain") == ""
