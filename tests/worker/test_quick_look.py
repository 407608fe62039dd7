"""A supervisor's own look at the work: what it takes for clean, and what it leaves to git."""

import os
import time
from pathlib import Path

import pytest

from sow.blanking import Blanker
from worker.supervisor import quick_look
from worker.supervisor.quick_look import CLOCK_SECONDS, QuickLook, pack_look

KEY = b"sk-4711-0815"
BLANKER = Blanker({b"KEY": KEY})


class Tree:
    """A checkout with a task's folder, and the look at it."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.task = top / ".sow/project/tasks/010"
        self.run = top / ".sow/run"
        for folder in (self.task, self.run, top / ".git/refs/heads", top / "src/deep"):
            folder.mkdir(parents=True)
        self.write(".git/HEAD", b"ref: refs/heads/main\n")
        self.write(".git/refs/heads/main", b"1111\n")
        self.write("src/old.txt", KEY)

    def write(self, name: str, data: bytes = KEY) -> Path:
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def begin(self, now: float) -> QuickLook:
        """Note how things stand; what has changed by then is no work."""
        git = self.top / ".git"
        folders = (str(self.top), str(self.task), str(self.run), str(self.top / ".sow/project"))
        marks = (str(git / "HEAD"), str(git / "refs/heads/main"))
        orders = [*map(os.fsencode, pack_look(*folders, marks))]
        return QuickLook(orders, now + CLOCK_SECONDS)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "repo")


def later(tree: Tree) -> QuickLook:
    """Begin a look when the clock of files has ticked: what is there now is old then."""
    mark, begun = tree.top / ".git/mark", time.time()
    while True:
        mark.touch()
        if (now := mark.stat().st_ctime) > begun:
            return tree.begin(now)


def test_what_was_there_before_is_no_work(tree: Tree) -> None:
    look = later(tree)
    tree.write("src/new.txt", b"nothing in it")
    assert look.is_clean(BLANKER)


@pytest.mark.parametrize(
    "name", ["new.txt", "src/deep/new.txt", "made/here/new.txt", "src/old.txt"]
)
def test_a_value_in_a_new_or_changed_file_is_for_git_to_tell(tree: Tree, name: str) -> None:
    look = later(tree)
    tree.write(name, b"x" * 99 + KEY)
    assert not look.is_clean(BLANKER)


def test_a_value_in_the_name_of_a_file_is_for_git_to_tell(tree: Tree) -> None:
    look = later(tree)
    tree.write(f"src/{KEY.decode()}/empty", b"")
    assert not look.is_clean(BLANKER)


def test_all_of_the_tasks_folder_counts(tree: Tree) -> None:
    tree.write(".sow/project/tasks/010/description.md")
    assert not later(tree).is_clean(BLANKER)


@pytest.mark.parametrize("name", [".sow/run/jobs/1", ".sow/project/tasks/020/log.md", ".git/x"])
def test_folders_without_work_are_not_looked_at(tree: Tree, name: str) -> None:
    look = later(tree)
    tree.write(name)
    assert look.is_clean(BLANKER)


def test_other_files_of_sow_are(tree: Tree) -> None:
    look = later(tree)
    tree.write(".sow/knowledge/found.md")
    assert not look.is_clean(BLANKER)


def test_a_folder_that_came_from_elsewhere_is_looked_at_whole(tree: Tree, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere/below"
    elsewhere.mkdir(parents=True)
    (elsewhere / "old.txt").write_bytes(KEY)
    look = later(tree)
    elsewhere.parent.rename(tree.top / "src/moved")
    assert not look.is_clean(BLANKER)


@pytest.mark.parametrize("name", [".git/HEAD", ".git/refs/heads/main"])
@pytest.mark.parametrize("data", [b"ref: refs/heads/other\n", None])
def test_whatever_changes_what_is_committed_is_for_git_to_tell(
    tree: Tree, name: str, data: bytes | None
) -> None:
    look = later(tree)
    if data is None:
        (tree.top / name).unlink()
    else:
        tree.write(name, data)
    assert not look.is_clean(BLANKER)


def test_no_link_is_followed_and_no_pipe_waited_for(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(KEY)
    look = later(tree)
    (tree.top / "link").symlink_to(tmp_path / "key")
    (tree.top / "folder").symlink_to(tmp_path)
    os.mkfifo(tree.top / "pipe")
    assert look.is_clean(BLANKER)


@pytest.mark.parametrize(("name", "most"), [("MOST_ENTRIES", 5), ("MOST_BYTES", 50)])
def test_more_than_is_quickly_done_is_for_git(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, name: str, most: int
) -> None:
    look = later(tree)
    tree.write("large.txt", b"x" * 99)
    monkeypatch.setattr(quick_look, name, most)
    assert not look.is_clean(BLANKER)


def test_a_value_over_the_seam_of_two_pieces_is_found(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick_look, "PIECE_BYTES", 7)
    look = later(tree)
    tree.write("new.txt", b"abc" + KEY + b"def")
    assert not look.is_clean(BLANKER)


def test_a_clock_that_was_set_makes_no_file_old(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = later(tree)
    tree.write("new.txt", b"nothing in it")
    assert look.is_clean(BLANKER)
    monkeypatch.setattr(quick_look.time, "time", lambda: 1.0)
    assert not look.is_clean(BLANKER)


def test_a_tree_that_is_gone_is_for_git(tree: Tree) -> None:
    look = later(tree)
    tree.top.rename(tree.top.with_name("away"))
    assert not look.is_clean(BLANKER)


def test_without_git_the_tasks_folder_alone_counts(tree: Tree) -> None:
    folders = (str(tree.task), str(tree.run), str(tree.top / ".sow/project"))
    orders = [*map(os.fsencode, pack_look("", *folders, (str(tree.top / "none"),)))]
    look = QuickLook(orders, time.time())
    tree.write("new.txt")
    assert look.is_clean(BLANKER)
    tree.write(".sow/project/tasks/010/log.md")
    assert not look.is_clean(BLANKER)
