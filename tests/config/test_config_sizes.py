"""The notation of disk space."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sow.config.units import parse_size, round_size, write_size


@given(st.integers(0, 10**12))
def test_a_size_is_read_as_it_was_written(size: int) -> None:
    assert parse_size(write_size(size)) == size


def test_the_largest_unit_that_gives_a_whole_number() -> None:
    sizes = [0, 999, 1000, 1500, 2_000_000, 3 * 10**9, 10**12, 1024, 4 << 30, 1536 << 20]
    written = ["0B", "999B", "1KB", "1500B", "2MB", "3GB", "1TB", "1KiB", "4GiB", "1536MiB"]
    assert [write_size(size) for size in sizes] == written
    assert [parse_size(text) for text in ("1.5KB", "1.5KiB", "2TiB")] == [1500, 1536, 2 << 40]


@pytest.mark.parametrize(
    "text", ["", "2", "GB", "2 GB", "2gb", "-1GB", "1e3MB", "2Gib", "2GiB\n", "2GB\n"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a size"):
        parse_size(text)


def test_sizes_for_people() -> None:
    texts = ["0 B", "999 B", "1.0 KB", "34.5 MB", "2.0 GB"]
    assert [round_size(size) for size in (0, 999, 1000, 34_460_000, 2 * 10**9)] == texts
