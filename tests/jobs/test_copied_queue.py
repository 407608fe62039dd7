"""Whose a queue's file is: a copy is refused while the original is there, and nothing else is."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from sow.jobs.copied_queue import CopiedQueue
from sow.jobs.database import open_existing_queue, open_queue
from sow.paths import Workspace


@pytest.fixture
def original(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path / "original")
    workspace.sow.mkdir(parents=True)
    open_queue(workspace).close()
    return workspace


def copy_of(original: Workspace) -> Workspace:
    target = original.root.with_name("copy")
    shutil.copytree(original.root, target)
    return Workspace(target)


def place(workspace: Workspace) -> bytes:
    with closing(open_queue(workspace)) as database:
        row = database.row("select value from control where name = 'place'")
        assert row is not None
        return bytes(row[0])


def is_used(workspace: Workspace) -> bool:
    """Whether it is opened, for reading and for writing, and then lies where it is on record."""
    database = open_existing_queue(workspace)
    assert database is not None
    database.close()
    return place(workspace).endswith(b" " + bytes(workspace.root))


def test_a_copy_is_refused_with_the_way_to_a_queue_of_its_own(original: Workspace) -> None:
    copy = copy_of(original)
    for opening in (open_queue, open_existing_queue):
        with pytest.raises(CopiedQueue) as refused:
            opening(copy)
        assert f"is a copy of the one of {original.root}" in refused.value.message
        assert "mv $(ls -d queue.db" in refused.value.hint
    assert is_used(original)


def test_what_was_moved_is_used(original: Workspace, tmp_path: Path) -> None:
    moved = Workspace(original.root.rename(tmp_path / "moved"))
    assert is_used(moved)


def test_a_copy_is_used_once_the_original_is_gone(original: Workspace) -> None:
    copy = copy_of(original)
    shutil.rmtree(original.run)
    assert is_used(copy)


def test_what_was_put_back_from_a_copy_is_used(original: Workspace) -> None:
    copy = copy_of(original)
    shutil.rmtree(original.root)
    copy.root.rename(original.root)
    assert is_used(original)


def test_another_name_of_the_same_folder_is_no_copy(original: Workspace, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(original.root)
    assert is_used(Workspace(link))
    assert is_used(original)


@pytest.mark.parametrize("noted", [None, b"", b"nonsense", b"0:0 /nowhere", b"1:1 \0", "text"])
def test_where_nobody_can_tell_it_is_used(original: Workspace, noted: bytes | str | None) -> None:
    """A file of an older sow has no such note."""
    with closing(open_queue(original)) as database:
        if noted is None:
            database.run("delete from control where name = 'place'")
        else:
            database.run("update control set value = ? where name = 'place'", (noted,))
    assert is_used(original)
