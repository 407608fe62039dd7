"""Branches and working trees that are read from git's files are those that git tells of."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sow.clones.bringing_along import unlike
from sow.git.checked_out import branch_at, lacks_branch
from sow.git.repository import _known as known_repositories
from sow.git.repository import branch_commit, repository_of, working_tree_of
from sow.git.run import git
from sow.git.view import view_of
from sow.state.kept.store import Checkout

NO_BREAK = "\u00a0"
NAMES = ("main", "older", "alias", "missing", f"main{NO_BREAK}", "nested", "nested/branch")
ANOTHER_GIT = """\
#!/bin/sh
case " $* " in
*" symbolic-ref "*) cat "{top}/branch" ;;
*" rev-parse "*HEAD*) cat "{top}/commit" ;;
*) exec {git} "$@" ;;
esac
"""
"""A git that keeps its references in a form of its own: what it has checked out lies in a file."""


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


def ends_with_a_blank_of_unicode(top: Path) -> None:
    git(top, "checkout", "-q", "-b", f"main{NO_BREAK}")


def linked_head(top: Path) -> None:
    (top / ".git/HEAD").unlink()
    (top / ".git/HEAD").symlink_to("refs/heads/older")


def odd_blanks(top: Path) -> None:
    (top / ".git/HEAD").write_bytes(b"ref:\t refs/heads/older \r\n")


def nested_names(top: Path) -> None:
    git(top, "branch", "nested/branch")


def a_circle_of_links(top: Path) -> None:
    (top / ".git/refs/heads/missing").symlink_to("missing")


def remote_branch(top: Path) -> None:
    git(top, "update-ref", "refs/remotes/origin/main", "main")
    git(top, "symbolic-ref", "HEAD", "refs/remotes/origin/main")


def plain(_top: Path) -> None:
    pass


FORMS = (
    *(plain, packed, stale_pack_behind_a_link, another_name, detached, several_trees),
    *(ends_with_a_blank_of_unicode, linked_head, odd_blanks, nested_names),
    *(a_circle_of_links, remote_branch),
)


@pytest.mark.slow
@pytest.mark.parametrize("change", FORMS)
def test_a_branch_is_what_git_says(top: Path, change: Callable[[Path], None]) -> None:
    change(top)
    main = repository_of(top)
    listed = git(top, "worktree", "list", "--porcelain")
    for branch in NAMES:
        ref = f"refs/heads/{branch}"
        commit = view_of(top).commit_of(ref)
        assert branch_commit(main, branch) == commit
        assert lacks_branch(top, branch) == (commit is None)
        folder = working_tree_of(main, branch)
        assert (folder is not None) == (f"branch {ref}\n" in f"{listed}\n")
        assert folder in (None, top, top.with_name("second"))


@pytest.mark.slow
@pytest.mark.parametrize("change", FORMS)
def test_a_repository_that_was_asked_about_is_what_git_says(
    top: Path, change: Callable[[Path], None]
) -> None:
    repository_of(top)
    change(top)
    again = repository_of(top)
    known_repositories.clear()
    assert repository_of(top) == again


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        *(plain, packed, another_name, detached, ends_with_a_blank_of_unicode, linked_head),
        *(odd_blanks, remote_branch),
    ],
)
@pytest.mark.parametrize("folder", ["", "folder/deeper"])
def test_what_is_checked_out_is_what_git_says(
    top: Path, change: Callable[[Path], None], folder: str
) -> None:
    """Also in a folder of the checkout: a workspace need not lie at its top."""
    change(top)
    (top / folder).mkdir(parents=True, exist_ok=True)
    name = (top / ".git/HEAD").is_symlink() and "refs/heads/older"
    name = name or git(top, "symbolic-ref", "-q", "--no-recurse", "HEAD", accepted=(0, 1))
    assert Checkout(top / folder).head == (
        f"ref: {name}" if name else git(top, "rev-parse", "HEAD")
    )
    branch = name.removeprefix("refs/heads/") if name.startswith("refs/heads/") else None
    assert branch_at(top / folder) == branch
    assert lacks_branch(top / folder, "missing")
    assert not lacks_branch(top / folder, "older")


def test_a_name_that_is_no_text_is_no_branch(top: Path) -> None:
    assert lacks_branch(top, "\udcff")
    assert not lacks_branch(top, "\0")  # nobody can tell
    assert lacks_branch(top, "../../HEAD")
    (top / ".git/HEAD").write_bytes(b"ref: refs/heads/\xff\n")
    assert branch_at(top) is None


def test_git_is_asked_where_it_keeps_references_in_another_form(
    top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `git init --ref-format=reftable` does: there HEAD says the same of every branch."""
    tables = top / ".git/reftable/tables.list"
    tables.parent.mkdir()
    program = top.with_name("bin") / "git"
    program.parent.mkdir()
    program.write_text(ANOTHER_GIT.format(top=top, git=shutil.which("git")))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    (top / ".git/HEAD").write_text("ref: refs/heads/.invalid\n")
    commit = "1" * 40
    (top / "commit").write_text(commit)
    kept = set()
    for number, branch in enumerate(("main", "topic", None)):
        (top / "branch").write_text(f"refs/heads/{branch}\n" if branch else "")
        tables.write_text(f"{number}\n")
        assert branch_at(top) == branch
        checkout = Checkout(top)
        assert checkout.head == (f"ref: refs/heads/{branch}" if branch else commit)
        kept.add(checkout.branch_folder)
    assert len(kept) == 3


@pytest.mark.parametrize("place", ["store/.git", "store"])
@pytest.mark.parametrize("setting", [True, False])
def test_the_first_working_tree_need_not_lie_beside_gits_folder(
    tmp_path: Path, place: str, setting: bool
) -> None:
    store, top, second = tmp_path / place, tmp_path / "top", tmp_path / "second"
    store.parent.mkdir(exist_ok=True)
    git(tmp_path, "init", "-q", "-b", "main", "--separate-git-dir", str(store), str(top))
    commit(top, "one")
    if setting:
        git(top, "config", "core.worktree", str(top))
    git(top, "worktree", "add", "-q", "-b", "other", str(second))
    main = repository_of(top)
    assert working_tree_of(main, "main") == top
    assert working_tree_of(main, "other") == second
    if setting:
        assert working_tree_of(repository_of(second), "main") == top
        git(top, "config", "--unset", "core.worktree")
        git(top, "config", "extensions.worktreeConfig", "true")
        git(top, "config", "--worktree", "core.worktree", str(top))
        assert working_tree_of(repository_of(second), "main") == top


def test_a_file_behind_a_link_is_another_one(top: Path) -> None:
    (top / "folder").mkdir()
    commit(top, "folder/file")
    entry = ("folder/file", "100644", git(top, "rev-parse", "HEAD:folder/file"))
    assert unlike(view_of(top), [entry]) == set()
    (top / "folder").rename(top / "elsewhere")
    (top / "folder").symlink_to("elsewhere")
    assert unlike(view_of(top), [entry]) == {"folder/file"}
