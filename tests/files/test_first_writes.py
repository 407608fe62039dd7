"""A file in a folder that nobody reads yet is written under its own name, and never in part."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sow.files import NotWritten, write_first_in, writing
from sow.files.inside import FLAGS

MODE = 0o600


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path, FLAGS)
    yield descriptor
    os.close(descriptor)


def test_a_first_file_is_written_with_its_mode_whatever_the_umask(
    tmp_path: Path, opened: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(writing, "_replace")
    before = os.umask(0o277)
    try:
        write_first_in(opened, tmp_path / "prompt.md", b"Begin.", mode=MODE)
    finally:
        os.umask(before)
    (there,) = tmp_path.iterdir()
    assert (there.name, there.read_bytes()) == ("prompt.md", b"Begin.")
    assert there.stat().st_mode & 0o777 == MODE


def test_what_an_earlier_try_has_left_is_replaced_as_a_whole(tmp_path: Path, opened: int) -> None:
    path = tmp_path / "prompt.md"
    path.write_bytes(b"Beg")
    with path.open("rb") as left:
        write_first_in(opened, path, b"Begin.", mode=MODE)
        assert left.read() == b"Beg"
    assert path.read_bytes() == b"Begin."
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_full_disk_takes_no_more_of_is_not_left_there_in_part(
    tmp_path: Path, opened: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(descriptor: int, data: bytes) -> None:
        os.write(descriptor, data[:2])
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(writing, "_write_all", write)
    with pytest.raises(NotWritten):
        write_first_in(opened, tmp_path / "prompt.md", b"Begin.", mode=MODE)
    assert list(tmp_path.iterdir()) == []
