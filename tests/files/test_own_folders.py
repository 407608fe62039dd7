"""Folders that others may have changed: what is opened, made and cleared on the way to a place."""

from pathlib import Path

import pytest

from sow.files.own_folders import copy_following, opened_below, write_file


@pytest.fixture
def others(tmp_path: Path) -> Path:
    """Return a folder with a file that nobody here may change."""
    folder = tmp_path / "others"
    folder.mkdir()
    (folder / "kept").write_text("theirs")
    return folder


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path / "top"
    folder.mkdir()
    return folder


def write(top: Path, *parts: str) -> None:
    with opened_below(top, ()) as opened:
        write_file(opened, parts, b"ours")


def test_what_is_only_opened_is_not_made(top: Path) -> None:
    with pytest.raises(FileNotFoundError), opened_below(top, ("a", "b")):
        pass
    assert list(top.iterdir()) == []


def test_no_link_is_followed_by_who_opens(top: Path, others: Path) -> None:
    (top / "a").symlink_to(others)
    with pytest.raises(OSError, match="a"), opened_below(top, ("a",)):
        pass
    assert (top / "a").is_symlink()


def test_who_makes_takes_links_away_closes_folders_and_stops_at_a_file(
    top: Path, others: Path
) -> None:
    (top / "a").symlink_to(others)
    (top / "wide").mkdir(mode=0o777)
    (top / "file").write_text("x")
    for name in ("a", "wide"):
        with opened_below(top, (name, "b"), makes=True):
            assert list((top / name).iterdir()) == [top / name / "b"]
        assert (top / name).stat().st_mode & 0o777 == 0o700
    with pytest.raises(NotADirectoryError), opened_below(top, ("file",), makes=True):
        pass
    assert (top / "file").read_text() == "x"
    assert [path.name for path in others.iterdir()] == ["kept"]


@pytest.mark.parametrize("way", ["file", "link", "nothing"])
def test_a_file_is_written_whatever_is_in_its_way(top: Path, others: Path, way: str) -> None:
    if way == "file":
        (top / "a").write_text("x")
    elif way == "link":
        (top / "a").symlink_to(others)
    write(top, "a", "b", "file")
    assert (top / "a/b/file").read_text() == "ours"
    (top / "a/b/file").unlink()
    (top / "a/b/file").mkdir()
    write(top, "a", "b", "file")
    assert (top / "a/b/file").read_text() == "ours"
    assert (others / "kept").read_text() == "theirs"


def test_a_copy_takes_the_place_of_a_file_on_its_way(top: Path, others: Path) -> None:
    (top / "a").write_text("x")
    with opened_below(top, ()) as opened:
        copy_following(others, opened, ("a", "copy"))
    assert (top / "a/copy/kept").read_text() == "theirs"
