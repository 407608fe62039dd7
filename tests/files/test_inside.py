"""Folders below a repository are opened part by part, and stay the ones that were meant."""

import os

import pytest

from sow.files import (
    LeadsOut,
    append_whole,
    discard_tree,
    locked_folder,
    make_folder,
    move,
    opened_folder,
    refuse_leading_out,
    remove_empty,
    remove_file,
    write_atomically,
    write_new,
)


@pytest.fixture
def folder(tmp_path):
    """Return a folder of a repository."""
    folder = tmp_path / "repository/.sow/project"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def outside(tmp_path):
    """Return a folder of the user's."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "file").write_bytes(b"mine")
    (folder / "empty").mkdir()
    return folder


WRITES = [
    lambda at: write_atomically(at / "file", b"theirs"),
    lambda at: write_new(at / "new", b"theirs"),
    lambda at: append_whole(at / "file", b"theirs"),
    lambda at: make_folder(at / "new/newer"),
    lambda at: remove_file(at / "file"),
    lambda at: discard_tree(at / "empty"),
    lambda at: remove_empty(at / "empty"),
    lambda at: move(at / "file", at.parent.parent / "taken"),
    lambda at: move(at.parent.parent / "brought", at / "brought"),
    lambda at: locked_folder(at).__enter__(),
]


@pytest.mark.parametrize("write", WRITES)
def test_no_write_follows_a_link_out(folder, outside, write):
    (folder.parent / "brought").write_bytes(b"theirs")
    (folder / "way").symlink_to(os.path.relpath(outside, folder))
    with pytest.raises(LeadsOut) as caught:
        write(folder / "way")
    assert caught.value.link == folder / "way"
    assert sorted(path.name for path in outside.iterdir()) == ["empty", "file"]
    assert (outside / "file").read_bytes() == b"mine"


def test_a_link_to_a_link_leads_where_the_last_one_does(folder, outside):
    (folder / "second").symlink_to(outside)
    (folder / "first").symlink_to("second")
    with pytest.raises(LeadsOut) as caught:
        write_new(folder / "first/new", b"")
    assert caught.value.target == str(outside)


def test_a_folder_in_which_a_link_leads_back_in_is_followed(folder):
    make_folder(folder.parent.parent / "shelf/deep")
    (folder / "way").symlink_to("../../shelf")
    write_atomically(folder / "way/deep/file", b"ours")
    assert (folder.parent.parent / "shelf/deep/file").read_bytes() == b"ours"
    with locked_folder(folder / "way/deep"):
        write_atomically(folder / "way/deep/file", b"new")
    assert (folder.parent.parent / "shelf/deep/file").read_bytes() == b"new"


def test_a_repository_that_is_reached_by_a_link_is_as_good(folder, tmp_path):
    (tmp_path / "link").symlink_to("repository")
    write_atomically(tmp_path / "link/.sow/project/file", b"ours")
    assert (folder / "file").read_bytes() == b"ours"


def test_a_file_that_is_a_link_out_is_not_replaced(folder, outside):
    (folder / "file").symlink_to(outside / "file")
    for write in (write_atomically, append_whole):
        with pytest.raises(LeadsOut):
            write(folder / "file", b"theirs")
    assert (folder / "file").is_symlink()
    assert (outside / "file").read_bytes() == b"mine"


def test_the_remedy_names_no_copy_of_what_is_not_there(folder, tmp_path):
    (folder / "way").symlink_to(tmp_path / "nowhere")
    with pytest.raises(LeadsOut) as caught:
        make_folder(folder / "way")
    assert "cp" not in caught.value.hint
    (folder / "way").unlink()
    make_folder(folder / "way")


def test_what_is_put_in_the_way_meanwhile_misleads_nobody(folder, outside):
    inner = folder / "task"
    inner.mkdir()

    def swap():
        inner.rename(folder / "away")
        inner.symlink_to(outside)
        return True

    write_atomically(inner / "file", b"ours", still=swap)
    assert (outside / "file").read_bytes() == b"mine"
    assert (folder / "away/file").read_bytes() == b"ours"


def test_the_locked_folder_is_written_in_as_long_as_it_is_the_one_at_its_path(folder):
    with locked_folder(folder) as descriptor, opened_folder(folder) as opened:
        assert opened == descriptor
        folder.rename(folder.with_name("away"))
        folder.mkdir()
        write_atomically(folder / "file", b"ours")
    assert (folder / "file").read_bytes() == b"ours"


def test_gits_own_folder_is_no_content(folder):
    (folder.parent.parent / ".git/hooks").mkdir(parents=True)
    (folder / "way").symlink_to("../../.git/hooks")
    with pytest.raises(LeadsOut):
        refuse_leading_out(folder / "way/post-checkout")
