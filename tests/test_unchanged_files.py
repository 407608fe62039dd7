"""What is remembered of a file equals what the file says, whatever has changed."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sow.unchanged_files import MOST, SETTLED_SECONDS, Memory

LATER = 60 * 10**9
"""Nanoseconds after which every file has been unchanged for long enough."""


class Reader:
    """Reads a file by way of a memory, and counts how often it was read."""

    def __init__(self, *paths: Path, after: int = LATER) -> None:
        self.paths = paths
        self.memory = Memory(lambda: time.time_ns() + after)
        self.memory.remember(*(str(path.parent) for path in paths))
        self.count = 0

    def __call__(self) -> list[str]:
        return self.memory.unchanged(self._find, *map(str, self.paths))

    def _find(self) -> list[str]:
        self.count += 1
        return [path.read_text() for path in self.paths]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_text("before")
    return path


def test_a_file_that_stands_still_is_read_once(file: Path) -> None:
    read = Reader(file)
    assert [read(), read(), read()] == [["before"]] * 3
    assert read.count == 1


def by_hand(path: Path) -> None:
    """Write over a file in place: as many bytes, and the time that it had."""
    facts = path.stat()
    path.write_text("behind")
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def as_git_does(path: Path) -> None:
    """Put another file in its place: as many bytes, and the time that it had."""
    facts, new = path.stat(), path.with_name("new")
    new.write_text("behind")
    os.utime(new, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    new.replace(path)


def through_a_link(path: Path) -> None:
    """Put a link to another file in its place."""
    path.with_name("new").write_text("behind")
    path.unlink()
    path.symlink_to("new")


@pytest.mark.parametrize("change", [by_hand, as_git_does, through_a_link])
@pytest.mark.parametrize("place", [0, 1], ids=["first", "second"])
def test_whatever_changes_is_read_again(
    file: Path, change: Callable[[Path], None], place: int
) -> None:
    other = file.with_name("other")
    other.write_text("before")
    wait_for_another_time(file, other)
    read = Reader(file, other)
    assert read() == ["before", "before"]
    change(read.paths[place])
    assert read()[place] == "behind"


def wait_for_another_time(*paths: Path) -> None:
    """Wait until the file system's clock, which ticks, has another time than these files."""
    probe = paths[0].with_name("probe")
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        probe.write_text("")
        if probe.stat().st_ctime_ns > max(path.stat().st_ctime_ns for path in paths):
            return
    raise TimeoutError("the file system's clock stands still")


def test_a_name_in_a_folder_that_comes_or_goes_is_seen(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "one").mkdir(parents=True)
    memory = Memory(lambda: time.time_ns() + LATER)
    memory.remember(str(tmp_path))

    def names() -> list[str]:
        return memory.unchanged(lambda: sorted(path.name for path in folder.iterdir()), str(folder))

    assert names() == ["one"]
    wait_for_another_time(folder)
    (folder / "two").mkdir()
    assert names() == ["one", "two"]
    wait_for_another_time(folder)
    (folder / "one").rmdir()
    assert names() == ["two"]


def test_what_has_just_changed_is_read_again_and_again(file: Path) -> None:
    """It could change once more within the same tick of the clock."""
    read = Reader(file, after=0)
    assert [read(), read()] == [["before"]] * 2
    assert read.count == 2
    read = Reader(file, after=SETTLED_SECONDS * 10**9 - 10**8)
    assert [read(), read()] == [["before"]] * 2
    assert read.count == 2


def test_nothing_is_remembered_of_other_folders(file: Path, tmp_path: Path) -> None:
    """Another machine may write there. A folder whose name only begins so is another one."""
    read = Reader(file)
    for folders in ([], [str(tmp_path / "elsewhere")], [str(tmp_path)[:-1]]):
        read.memory.remember(*folders)
        before = read.count
        assert [read(), read()] == [["before"]] * 2
        assert read.count == before + 2


def test_what_is_missing_is_looked_for_each_time(file: Path) -> None:
    read = Reader(file)
    read()
    file.unlink()
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            read()
    file.write_text("again")
    assert read() == ["again"]


def test_not_more_is_remembered_than_some_files(tmp_path: Path) -> None:
    memory = Memory(lambda: time.time_ns() + LATER)
    memory.remember(str(tmp_path))
    paths = [str(tmp_path / str(number)) for number in range(MOST + 1)]
    for path in paths:
        Path(path).touch()
        assert memory.unchanged(lambda: "before", path) == "before"
    assert memory.unchanged(lambda: "now", paths[-1]) == "before"
    assert memory.unchanged(lambda: "now", paths[0]) == "now"
