"""Reading all of a file, whatever its system says of its size."""

import os
import sys
from pathlib import Path

import pytest

from sow.files import NotAFile, read_regular


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for size in (0, 1, 4096, 100_000):
        path.write_bytes(os.urandom(size))
        assert read_regular(path, 100_000) == path.read_bytes()


@pytest.mark.parametrize("size", [101, 5000])
def test_one_that_is_too_large_is_refused(tmp_path: Path, size: int) -> None:
    (tmp_path / "a").write_bytes(b"x" * size)
    with pytest.raises(NotAFile, match="larger than"):
        read_regular(tmp_path / "a", 100)


@pytest.mark.skipif(sys.platform != "linux", reason="files without a size")
def test_one_whose_system_tells_no_size_is_read_to_its_end() -> None:
    path = Path("/proc/self/environ")
    assert path.stat().st_size == 0
    assert read_regular(path, 1 << 20) == path.read_bytes() != b""


def test_one_that_grows_while_it_is_read_is_refused_beyond_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was small when it was opened."""
    path, read = tmp_path / "a", os.read
    path.write_bytes(b"x" * 50)

    def grown(descriptor: int, size: int) -> bytes:
        with path.open("ab") as file:
            file.write(b"y" * 60)
        return read(descriptor, size)

    monkeypatch.setattr(os, "read", grown)
    with pytest.raises(NotAFile, match="larger than"):
        read_regular(path, 100)


def test_one_that_is_read_piece_by_piece_is_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As file systems of a network may give it."""
    path, read = tmp_path / "a", os.read
    path.write_bytes(os.urandom(1000))
    whole = path.read_bytes()
    monkeypatch.setattr(os, "read", lambda descriptor, size: read(descriptor, min(size, 300)))
    assert read_regular(path, 5000) == whole
