"""A clone is deleted, whatever an agent has made of it, and nothing outside of it."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from sow.clones.deleting import delete_clone, delete_folder
from sow.files.trees import DEEPEST


@pytest.fixture
def outside(tmp_path):
    folder = tmp_path / "outside"
    (folder / "kept").mkdir(parents=True)
    (folder / "kept" / "file").write_text("kept")
    return folder


@pytest.fixture
def clone(tmp_path):
    folder = tmp_path / "clones" / "010"
    (folder / ".git").mkdir(parents=True)
    return folder


def test_links_are_removed_and_not_what_they_lead_to(clone, outside):
    (clone / "link").symlink_to(outside)
    (clone / ".git" / "objects").symlink_to(outside / "kept")
    (clone / "file").symlink_to(outside / "kept" / "file")
    os.link(outside / "kept" / "file", clone / "hard")
    delete_clone(clone)
    assert list(clone.parent.iterdir()) == []
    assert (outside / "kept" / "file").read_text() == "kept"


def test_a_git_folder_that_is_a_link(clone, outside):
    (clone / ".git").rmdir()
    (clone / ".git").symlink_to(outside)
    delete_clone(clone)
    assert not clone.exists()
    assert (outside / "kept" / "file").exists()


def test_a_clone_that_is_a_link_itself(clone, outside):
    (clone / ".git").rmdir()
    clone.rmdir()
    clone.symlink_to(outside)
    delete_clone(clone)
    assert not os.path.lexists(clone)
    assert (outside / "kept" / "file").exists()


@pytest.fixture
def nobodys_clone():
    """A clone of somebody whom rights bind: they do not bind root."""
    folder = Path(tempfile.mkdtemp())
    is_root = os.geteuid() == 0
    if is_root:
        os.chown(folder, 65534, -1)
        os.seteuid(65534)
    try:
        (folder / "010").mkdir()
        yield folder / "010"
    finally:
        if is_root:
            os.seteuid(0)
        shutil.rmtree(folder)


def test_folders_without_rights(nobodys_clone):
    clone = nobodys_clone
    for path in ("a/b/c", "d/e"):
        (clone / path).mkdir(parents=True)
        (clone / path / "file").write_text("x")
    for path, mode in (("a/b/c", 0o000), ("a/b", 0o555), ("a", 0o100), ("d", 0o000)):
        (clone / path).chmod(mode)
    clone.chmod(0o555)
    delete_clone(clone)
    assert list(clone.parent.iterdir()) == []


def test_folders_deeper_than_any_path_may_be(clone):
    here = os.open(clone, os.O_RDONLY)
    try:
        for _ in range(DEEPEST * 14):
            os.mkdir("deeper", dir_fd=here)
            deeper = os.open("deeper", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = deeper
    finally:
        os.close(here)
    delete_clone(clone)
    assert list(clone.parent.iterdir()) == []


def test_what_is_gone_already(tmp_path):
    delete_clone(tmp_path / "nothing")
    delete_folder(tmp_path / "nothing" / "at" / "all")


def test_names_that_are_no_text(clone):
    (clone / os.fsdecode(b"\xff\n")).mkdir()
    (clone / os.fsdecode(b"\xff\n") / "-rf").write_text("x")
    delete_clone(clone)
    assert not clone.exists()
