"""What an agent prints, read as it grows."""

import itertools
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sow.executors.base import Event, EventKind
from worker import output
from worker.output import OutputReader, read_tail


class Echo:
    """An executor to which every line is a text, but `session X` a session."""

    def read_line(self, line: bytes) -> tuple[Event, ...]:
        text = line.decode("utf-8", "replace")
        if text.startswith("session "):
            return (Event(EventKind.SESSION, session_id=text[8:]),)
        return (Event(EventKind.TEXT, text=text),)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "output.jsonl"


@pytest.fixture
def reader(path: Path) -> OutputReader:
    return OutputReader(path, Echo())  # type: ignore[arg-type] # the one method it uses


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def texts(events: list[Event]) -> list[str]:
    return [event.text for event in events]


def test_a_file_that_is_not_there_yet_tells_nothing(reader: OutputReader) -> None:
    assert list(reader.events()) == []
    assert list(reader.events(last=True)) == []


def test_each_line_is_read_once(reader: OutputReader, path: Path) -> None:
    append(path, b"one\ntwo\n")
    assert texts(list(reader.events())) == ["one", "two"]
    assert list(reader.events()) == []
    append(path, b"three\n")
    assert texts(list(reader.events())) == ["three"]


def test_a_line_under_way_waits_for_its_end(reader: OutputReader, path: Path) -> None:
    append(path, b"one\ntw")
    assert texts(list(reader.events())) == ["one"]
    append(path, b"o\n")
    assert texts(list(reader.events())) == ["two"]


def test_the_last_look_takes_an_unfinished_line(reader: OutputReader, path: Path) -> None:
    append(path, b"one\ntw")
    assert texts(list(reader.events(last=True))) == ["one", "tw"]
    assert list(reader.events(last=True)) == []


def test_empty_lines_are_passed_over(reader: OutputReader, path: Path) -> None:
    append(path, b"\n  \n\r\none\n\n")
    assert texts(list(reader.events())) == ["one"]


def test_invalid_utf8_harms_nothing(reader: OutputReader, path: Path) -> None:
    """§10: "invalid UTF-8 from an agent"."""
    append(path, b"\xff\xfe broken\nwhole\n")
    assert texts(list(reader.events()))[1] == "whole"


def test_events_are_folded_into_what_was_seen(reader: OutputReader, path: Path) -> None:
    append(path, b"session abc\nhello\n")
    reader.read_new()
    assert (reader.seen.session_id, reader.seen.last_text) == ("abc", "hello")


@pytest.fixture
def short_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small bounds, so that a test needs no file of 16 MB."""
    monkeypatch.setattr(output, "LONGEST_LINE_BYTES", 100)
    monkeypatch.setattr(output, "CHUNK_BYTES", 16)


@pytest.mark.usefixtures("short_lines")
def test_a_line_too_long_is_skipped_and_not_kept_in_memory(
    reader: OutputReader, path: Path
) -> None:
    append(path, b"one\n" + b"x" * 5000)
    assert texts(list(reader.events())) == ["one"]
    append(path, b"x" * 5000)
    assert list(reader.events()) == []
    assert len(reader._rest) <= 100 + 16
    append(path, b"xxx\ntwo\n")
    assert texts(list(reader.events())) == ["two"]


@pytest.mark.usefixtures("short_lines")
def test_the_tail_of_a_line_too_long_is_no_line_of_its_own(
    reader: OutputReader, path: Path
) -> None:
    append(path, b"x" * 5000 + b"session wrong")
    reader.read_new()
    assert list(reader.events(last=True)) == []
    assert reader.seen.session_id is None


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    lines=st.lists(st.binary(max_size=40).map(lambda b: b.replace(b"\n", b""))),
    cuts=st.lists(st.integers(0, 400), max_size=8),
)
def test_in_whatever_pieces_it_is_written_the_lines_are_the_same(
    path: Path, lines: list[bytes], cuts: list[int]
) -> None:
    path.unlink(missing_ok=True)
    data = b"\n".join(lines)
    reader = OutputReader(path, Echo())  # type: ignore[arg-type]
    found: list[str] = []
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    for start, end in itertools.pairwise(edges):
        append(path, data[start:end])
        found += texts(list(reader.events()))
    found += texts(list(reader.events(last=True)))
    wanted = [event.text for line in lines if line.strip() for event in Echo().read_line(line)]
    kept = [text for text in found if not text.startswith("session ")]
    assert kept == [text for text in wanted if not text.startswith("session ")]


def test_the_tail_is_the_last_eight_kilobytes(path: Path) -> None:
    assert read_tail(path) == ""
    path.write_bytes(b"short \xff")
    assert read_tail(path) == "short \ufffd"
    path.write_bytes(b"a" * 100_000 + b"b" * 8192)
    assert read_tail(path) == "b" * 8192


def test_much_output_is_not_kept(reader: OutputReader, path: Path) -> None:
    append(path, (b"x" * 999 + b"\n") * 20_000)
    tracemalloc.start()
    try:
        reader.read_new()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert reader.offset == 20_000_000
    assert peak < 8_000_000
