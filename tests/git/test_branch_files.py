"""Branches and working trees that are read from git's files are those that git tells of."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sow.clones.bringing_along import unlike
from sow.git.repository import branch_commit, repository_of, working_tree_of
from sow.git.run import git
from sow.git.view import view_of


@pytest.fixture
def top(tmp_path: Path) -> Path:
    top = tmp_path / "top"
    top.mkdir()
    git(top, "init", "-q", "-b", "main")
    commit(top, "one")
    git(top, "branch", "older")
    commit(top, "two")
    return top


def commit(top: Path, name: str) -> None:
    (top / name).write_text(name)
    git(top, "add", name)
    who = ("-c", "user.name=A", "-c", "user.email=a@example.invalid")
    git(top, *who, "commit", "-q", "-m", name)


def packed(top: Path) -> None:
    git(top, "pack-refs", "--all")


def stale_pack_behind_a_link(top: Path) -> None:
    git(top, "pack-refs", "--all", "--no-prune")
    commit(top, "three")
    refs = top / ".git/refs/heads"
    refs.rename(top / ".git/moved")
    refs.symlink_to("../moved")


def another_name(top: Path) -> None:
    git(top, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
    git(top, "symbolic-ref", "HEAD", "refs/heads/alias")


def detached(top: Path) -> None:
    git(top, "checkout", "-q", "--detach")


def several_trees(top: Path) -> None:
    git(top, "worktree", "add", "-q", str(top.with_name("second")), "older")


def plain(_top: Path) -> None:
    pass


@pytest.mark.parametrize(
    "change",
    [plain, packed, stale_pack_behind_a_link, another_name, detached, several_trees],
)
def test_a_branch_is_what_git_says(top: Path, change: Callable[[Path], None]) -> None:
    change(top)
    main = repository_of(top)
    listed = git(top, "worktree", "list", "--porcelain")
    for branch in ("main", "older", "alias", "missing"):
        ref = f"refs/heads/{branch}"
        assert branch_commit(main, branch) == view_of(top).commit_of(ref)
        folder = working_tree_of(main, branch)
        assert (folder is not None) == (f"branch {ref}\n" in f"{listed}\n")
        assert folder in (None, top, top.with_name("second"))


def test_a_file_behind_a_link_is_another_one(top: Path) -> None:
    (top / "folder").mkdir()
    commit(top, "folder/file")
    entry = ("folder/file", "100644", git(top, "rev-parse", "HEAD:folder/file"))
    assert unlike(view_of(top), [entry]) == set()
    (top / "folder").rename(top / "elsewhere")
    (top / "folder").symlink_to("elsewhere")
    assert unlike(view_of(top), [entry]) == {"folder/file"}
