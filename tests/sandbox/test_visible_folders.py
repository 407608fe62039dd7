"""Where a process works, and what is hidden of the machine around it."""

import os
from pathlib import Path

import pytest

from sow.paths import Workspace
from sow.sandbox.machine import Wanted, inside_words, view_of_machine
from sow.sandbox.view import View, is_seen
from sow.sandbox.visible_folders import (
    TooWide,
    checked_folder,
    objects_of,
    visible_in_clone,
    visible_in_root,
)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace in a folder of a repository."""
    for name in ("home/.ssh", "home/repo/.git/objects", "home/repo/inner/.sow/run"):
        (tmp_path / name).mkdir(parents=True)
    return Workspace(tmp_path / "home/repo/inner")


def view_of(wanted: Wanted, tmp_path: Path, *, as_root: bool = False) -> View:
    environ = {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    return view_of_machine(wanted, environ, as_root=as_root)


def test_in_a_clone_the_main_checkout_is_hidden_but_for_its_state(
    workspace: Workspace, tmp_path: Path
) -> None:
    clone = tmp_path / "clones/010"
    (tmp_path / "clones/020").mkdir(parents=True)
    clone.mkdir()
    visible = visible_in_clone(workspace, clone, clone, borrows=False)
    view = view_of(visible, tmp_path)
    assert is_seen(view, str(clone))
    assert is_seen(view, str(workspace.sow))
    for hidden in (
        "home/repo",
        "home/repo/.git",
        "clones/020",
        "home/.ssh",
        "home/repo/.git/objects",
    ):
        assert not is_seen(view, str(tmp_path / hidden)), hidden
    assert not is_seen(view, str(workspace.run))
    assert str(clone) in view.writable
    assert str(workspace.sow) not in view.writable


def test_a_clone_that_borrows_has_all_objects_that_it_needs(
    workspace: Workspace, tmp_path: Path
) -> None:
    other = tmp_path / "other/objects"
    other.mkdir(parents=True)
    info = tmp_path / "home/repo/.git/objects/info"
    info.mkdir()
    (info / "alternates").write_text(f"# a comment\n{other}\n")
    expected = {str(tmp_path / "home/repo/.git/objects"), str(other)}
    assert set(objects_of(tmp_path / "home/repo")) == expected
    visible = visible_in_clone(workspace, tmp_path / "clone", tmp_path / "clone", borrows=True)
    assert expected <= set(visible.readable)


def test_objects_that_borrow_from_each_other_end(tmp_path: Path) -> None:
    info = tmp_path / ".git/objects/info"
    info.mkdir(parents=True)
    (info / "alternates").write_text(f"{tmp_path}/.git/objects\n")
    assert objects_of(tmp_path) == (str(tmp_path / ".git/objects"),)


def test_the_objects_of_a_linked_tree_are_those_of_its_repository(tmp_path: Path) -> None:
    own = tmp_path / "main/.git/worktrees/tree"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/.git").write_text(f"gitdir: {own}\n")
    (found,) = objects_of(tmp_path / "tree")
    assert Path(found).resolve() == tmp_path / "main/.git/objects"


def test_in_the_root_git_and_state_are_read_only(workspace: Workspace, tmp_path: Path) -> None:
    view = view_of(visible_in_root(workspace, workspace.root), tmp_path)
    assert view.writable == (str(workspace.root),)
    assert {str(workspace.sow), str(tmp_path / "home/repo/.git")} <= set(view.readable)
    assert not is_seen(view, str(workspace.run))


@pytest.mark.parametrize("folder", ["/", "/usr", "home", "."])
def test_a_folder_that_holds_the_home_or_the_system_is_refused(
    tmp_path: Path, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    path = os.path.normpath(tmp_path / folder)
    with pytest.raises(TooWide, match="a sandbox cannot make"):
        checked_folder(Wanted(folder=path, cwd=path))


def test_a_folder_in_the_home_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home/work").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    work = str(tmp_path / "home/work")
    assert checked_folder(Wanted(folder=work, cwd=work)).folder == work


def test_keys_of_root_are_hidden_from_root_alone(workspace: Workspace, tmp_path: Path) -> None:
    visible = visible_in_root(workspace, workspace.root)
    assert view_of(visible, tmp_path).unreadable == ()
    assert "/etc/shadow" in view_of(visible, tmp_path, as_root=True).unreadable


def test_a_home_behind_a_link_is_hidden_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "data/me").mkdir(parents=True)
    (tmp_path / "me").symlink_to(tmp_path / "data/me")
    (tmp_path / "clone").mkdir()
    wanted = Wanted(folder=str(tmp_path / "clone"), cwd=str(tmp_path / "clone"))
    view = view_of_machine(wanted, {"HOME": str(tmp_path / "me")}, as_root=False)
    assert str(tmp_path / "data/me") in view.hidden
    assert view.home == str(tmp_path / "data/me")
    assert str(tmp_path / "me") in {link.path for link in view.links}


def test_no_variable_leads_to_the_session() -> None:
    words = inside_words({"SSH_AUTH_SOCK": "/x", "KEY": "y", "DISPLAY": ":0"})
    assert words == (
        *("--unsetenv", "SSH_AUTH_SOCK", "--unsetenv", "DISPLAY"),
        *("--setenv", "TMPDIR", "/tmp"),
    )
