"""The look for secrets in what an agent has made: what is found, and that no value is told."""

import io
from collections.abc import Iterator

import msgspec

from sow.blanking import Blanker
from worker.steps.scan import PIECE_BYTES, Search, _pieces
from worker.steps.scan_record import Found

KEY = "sk-4711-0815"
LONGER = "another value, which is much longer than the first"


def search() -> Search:
    return Search(Blanker({b"API_KEY": KEY.encode(), b"OTHER": LONGER.encode()}))


def places(found: Search) -> list[tuple[str, str]]:
    return [*found.places]


def in_pieces(text: str, size: int) -> Iterator[bytes]:
    return (text[at : at + size].encode() for at in range(0, len(text), size))


def test_a_value_is_found_in_pieces_of_any_size() -> None:
    for size in range(1, 60):
        found = search()
        found.see("notes", in_pieces(f"{'x' * 36} {KEY}, is it not?", size))
        assert places(found) == [("API_KEY", "notes")], size


def test_a_file_that_is_named_by_a_value_is_found_and_not_named() -> None:
    found = search()
    found.see(f"keys/{KEY}.txt", iter(()))
    assert places(found) == [("API_KEY", "keys/[API_KEY].txt")]
    assert found.named(f"{KEY}: Permission denied") == "[API_KEY]: Permission denied"


def test_a_name_of_any_bytes_goes_on_record() -> None:
    found = search()
    found.see("caf\udce9", iter([KEY.encode()]))
    record = msgspec.json.encode(Found(attempt="1.1.x", places=tuple(found.places)))
    assert msgspec.json.decode(record, type=Found).places == (("API_KEY", "caf�"),)


def test_no_more_of_a_file_is_held_than_a_piece() -> None:
    file = io.BytesIO(b"x" * (2 * PIECE_BYTES + 5) + b"rest")
    assert [*map(len, _pieces(file, 2 * PIECE_BYTES + 5))] == [PIECE_BYTES, PIECE_BYTES, 5]
    assert file.read() == b"rest"
