"""What Git LFS keeps for a task's commits comes along with its branch."""

import hashlib
import os

import pytest
from clones.clone_site import make_site

from sow.clones.bring_back import bring_large_files
from sow.git.inert_refs import UnsafeClone


@pytest.fixture
def site(tmp_path):
    return make_site(tmp_path)


def name_of(data):
    return hashlib.sha256(data).hexdigest()


def place(folder, name):
    return folder / ".git" / "lfs" / "objects" / name[:2] / name[2:4] / name


def keep(folder, name, data):
    path = place(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_contents_are_copied_once_and_only_true_ones(site, tmp_path):
    true, false = name_of(b"true"), name_of(b"other")
    linked, piped = name_of(b"linked"), name_of(b"piped")
    kept = keep(site.clone, true, b"true")
    keep(site.clone, false, b"false")
    (tmp_path / "secret").write_bytes(b"linked")
    path = keep(site.clone, linked, b"")
    path.unlink()
    path.symlink_to(tmp_path / "secret")
    path = keep(site.clone, piped, b"")
    path.unlink()
    os.mkfifo(path)

    assert bring_large_files(site.facts, site.repository) == (true,)

    brought = place(site.main, true)
    assert brought.read_bytes() == b"true"
    assert brought.stat().st_ino != kept.stat().st_ino
    others = [name for name in (false, linked, piped) if place(site.main, name).exists()]
    assert others == []
    assert bring_large_files(site.facts, site.repository) == ()
    files = [path for path in (site.main / ".git" / "lfs").rglob("*") if path.is_file()]
    assert files == [brought]


def test_without_large_files_nothing_is_made(site):
    assert bring_large_files(site.facts, site.repository) == ()
    assert not (site.main / ".git" / "lfs").exists()


def test_a_folder_that_is_a_link_is_refused(site, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (site.clone / ".git" / "lfs").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnsafeClone):
        bring_large_files(site.facts, site.repository)
