"""What tells the clones of one checkout from those of another: copies, moves, worktrees."""

import shutil

import pytest
from clones.clone_site import plain
from clones.making_site import NOON, make_home

from sow.clone_mark import CHECKOUT_PLACE
from sow.clones.checkout_id import checkout_id
from sow.clones.record import record_clone
from sow.errors import StateError
from sow.git.repository import repository_of
from sow.state.tasks import read_task


@pytest.fixture
def home(tmp_path):
    return make_home(tmp_path)


def id_of(folder):
    return checkout_id(repository_of(folder))


def test_it_is_made_once_and_stays(home):
    first = id_of(home.top)
    assert len(first) == 8
    before = (home.top / ".git" / CHECKOUT_PLACE).stat()
    assert id_of(home.top) == id_of(home.top / "src") == first
    assert (home.top / ".git" / CHECKOUT_PLACE).stat().st_ino == before.st_ino


def test_a_moved_checkout_keeps_it(home, tmp_path):
    first = id_of(home.top)
    home.top.rename(tmp_path / "moved")
    assert id_of(tmp_path / "moved") == first
    assert str(tmp_path / "moved") in (tmp_path / "moved/.git" / CHECKOUT_PLACE).read_text()


def test_a_copy_gets_its_own_and_the_original_keeps_its(home, tmp_path):
    first = id_of(home.top)
    shutil.copytree(home.top, tmp_path / "copy")
    second = id_of(tmp_path / "copy")
    assert second != first
    assert id_of(home.top) == first
    assert id_of(tmp_path / "copy") == second


def test_a_copy_whose_original_was_replaced_by_another_repository_counts_as_moved(home, tmp_path):
    first, top = id_of(home.top), home.top
    top.rename(tmp_path / "moved")
    make_home(tmp_path)
    assert id_of(tmp_path / "moved") == first
    assert id_of(top) != first


def test_worktrees_have_one_each(home, tmp_path):
    plain(home.top, "worktree", "add", "-q", "-b", "two", str(tmp_path / "two"))
    assert id_of(tmp_path / "two") != id_of(home.top)
    assert (home.top / ".git/worktrees/two" / CHECKOUT_PLACE).exists()


def test_a_copied_worktree_shares_its_git_folder_and_is_refused(home, tmp_path):
    plain(home.top, "worktree", "add", "-q", "-b", "two", str(tmp_path / "two"))
    id_of(tmp_path / "two")
    shutil.copytree(tmp_path / "two", tmp_path / "three")
    with pytest.raises(
        StateError, match="share one git folder, so sow cannot distinguish"
    ) as caught:
        id_of(tmp_path / "three")
    assert str(tmp_path / "two") in caught.value.message


@pytest.mark.parametrize("text", ["", "{", "[]", '{"id": "../..", "path": "x"}', '{"id": 3}'])
def test_a_damaged_file_is_made_anew(home, text):
    id_of(home.top)
    (home.top / ".git" / CHECKOUT_PLACE).write_text(text)
    assert len(id_of(home.top)) == 8
    assert id_of(home.top) == id_of(home.top)


def test_the_place_is_recorded_once(home):
    made = home.make()
    task = record_clone(home.workspace, made.mark, now=NOON + 60)
    assert (task.clone.path, task.clone.branch) == (made.mark.path, made.mark.branch)
    before = home.workspace.task("implementation", "010") / "state.yaml"
    text = before.read_bytes()
    record_clone(home.workspace, made.mark, now=NOON + 120)
    assert before.read_bytes() == text
    assert read_task(home.workspace, "010").clone.base == made.mark.base
    assert not home.make().is_new
