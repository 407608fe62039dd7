"""What an agent prints, read as it grows."""

import itertools
import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from attempts.job_values import CLAUDE
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sow.executors import lines
from sow.executors.base import Event, EventKind, Observation
from sow.executors.lines import read_every
from sow.executors.registry import make_executor
from sow.files import read_tail
from worker.running import OutputReader


class Echo:
    """An executor that keeps each line that it is given; `session X` is a session."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def read_line(self, line: bytes) -> tuple[Event, ...]:
        text = line.decode("utf-8", "replace")
        self.lines.append(text)
        if text.startswith("session "):
            return (Event(EventKind.SESSION, session_id=text[8:]),)
        return (Event(EventKind.TEXT, text=text),)

    def skim(self, data: bytes) -> Iterator[Event]:
        return read_every(data, self.read_line)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "output.jsonl"


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
def reader(path: Path, echo: Echo) -> OutputReader:
    return OutputReader(path, echo)  # type: ignore[arg-type] # the one method it uses


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_a_file_that_is_not_there_yet_tells_nothing(reader: OutputReader, echo: Echo) -> None:
    reader.read_new()
    reader.read_new(last=True)
    assert echo.lines == []


def test_each_line_is_read_once(reader: OutputReader, path: Path, echo: Echo) -> None:
    append(path, b"one\ntwo\n")
    reader.read_new()
    assert echo.lines == ["one", "two"]
    reader.read_new()
    append(path, b"three\n")
    reader.read_new()
    assert echo.lines == ["one", "two", "three"]


def test_a_line_under_way_waits_for_its_end(reader: OutputReader, path: Path, echo: Echo) -> None:
    append(path, b"one\ntw")
    reader.read_new()
    assert echo.lines == ["one"]
    append(path, b"o\n")
    reader.read_new()
    assert echo.lines == ["one", "two"]


def test_the_last_look_takes_an_unfinished_line(
    reader: OutputReader, path: Path, echo: Echo
) -> None:
    append(path, b"one\ntw")
    reader.read_new(last=True)
    assert echo.lines == ["one", "tw"]
    reader.read_new(last=True)
    assert echo.lines == ["one", "tw"]


def test_empty_lines_are_passed_over(reader: OutputReader, path: Path, echo: Echo) -> None:
    append(path, b"\n  \n\r\none\n\n")
    reader.read_new(last=True)
    assert echo.lines == ["one"]


def test_invalid_utf8_harms_nothing(reader: OutputReader, path: Path, echo: Echo) -> None:
    """§10: "invalid UTF-8 from an agent"."""
    append(path, b"\xff\xfe broken\nwhole\n")
    reader.read_new()
    assert echo.lines[1] == "whole"


def test_events_are_folded_into_what_was_seen(reader: OutputReader, path: Path) -> None:
    append(path, b"session abc\nhello\n")
    reader.read_new()
    assert (reader.seen.session_id, reader.seen.last_text) == ("abc", "hello")


def test_a_look_without_time_reads_one_chunk_and_says_that_there_is_more(
    reader: OutputReader, path: Path, echo: Echo, short_lines: None
) -> None:
    append(path, b"line\n" * 100)
    looks = 0
    while not looks or reader.is_behind:
        before = reader.offset
        reader.read_for(0.0)
        assert reader.offset - before <= 16
        looks += 1
    assert looks == 500 // 16 + 1
    assert len(echo.lines) == 100


def test_what_is_written_after_the_end_is_not_read(
    reader: OutputReader, path: Path, echo: Echo
) -> None:
    """Else a process that got away could keep its attempt from ever being judged."""
    append(path, b"one\n")
    reader.ends_here()
    append(path, b"two\n")
    reader.ends_here()
    reader.read_for(0.0)
    assert (echo.lines, reader.is_behind) == (["one"], False)


def test_of_a_file_that_claims_to_be_endless_the_last_lines_are_read(
    reader: OutputReader, path: Path, echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.running.LONGEST_BACKLOG_BYTES", 1000)
    append(path, b"first\n")
    with path.open("r+b") as file:
        file.truncate(1 << 40)
    append(path, b"\nlast\n")
    reader.ends_here()
    reader.read_new(last=True)
    assert echo.lines == ["last"]


@pytest.mark.parametrize("kind", ["folder", "pipe", "loop", "device"])
def test_an_output_that_is_no_file_tells_nothing_and_holds_nobody_up(
    reader: OutputReader, path: Path, kind: str
) -> None:
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(path if kind == "loop" else "/dev/zero")
    reader.read_new()
    reader.ends_here()
    reader.read_new(last=True)
    assert reader.seen == Observation()
    assert read_tail(path) == ""


@pytest.fixture
def short_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small bounds, so that a test needs no file of 16 MB."""
    monkeypatch.setattr(lines, "LONGEST_LINE_BYTES", 100)
    monkeypatch.setattr("worker.running.CHUNK_BYTES", 16)


@pytest.mark.usefixtures("short_lines")
def test_a_line_too_long_is_skipped_and_not_kept_in_memory(
    reader: OutputReader, path: Path, echo: Echo
) -> None:
    append(path, b"one\n" + b"x" * 5000)
    reader.read_new()
    append(path, b"x" * 5000)
    reader.read_new()
    assert echo.lines == ["one"]
    assert reader._lines.take_rest() == b""
    reader._lines.skip_line()
    append(path, b"xxx\ntwo\n")
    reader.read_new()
    assert echo.lines == ["one", "two"]


@pytest.mark.usefixtures("short_lines")
def test_the_tail_of_a_line_too_long_is_no_line_of_its_own(
    reader: OutputReader, path: Path
) -> None:
    append(path, b"x" * 5000 + b"session wrong")
    reader.read_new()
    reader.read_new(last=True)
    assert reader.seen.session_id is None


@settings(
    max_examples=min(60, settings.default.max_examples),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    written=st.lists(st.binary(max_size=40).map(lambda b: b.replace(b"\n", b""))),
    cuts=st.lists(st.integers(0, 400), max_size=8),
)
def test_in_whatever_pieces_it_is_written_the_lines_are_the_same(
    path: Path, written: list[bytes], cuts: list[int]
) -> None:
    path.unlink(missing_ok=True)
    data = b"\n".join(written)
    echo = Echo()
    reader = OutputReader(path, echo)  # type: ignore[arg-type]
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    for start, end in itertools.pairwise(edges):
        append(path, data[start:end])
        reader.read_new()
    reader.read_new(last=True)
    assert echo.lines == [line.decode("utf-8", "replace") for line in written if line.strip()]


def test_the_tail_is_the_last_eight_kilobytes(path: Path) -> None:
    assert read_tail(path) == ""
    path.write_bytes(b"short \xff")
    assert read_tail(path) == "short \ufffd"
    path.write_bytes(b"a" * 100_000 + b"b" * 8192)
    assert read_tail(path) == "b" * 8192


def test_much_output_is_not_kept(path: Path) -> None:
    reader = OutputReader(path, make_executor(CLAUDE))
    append(path, (b"x" * 999 + b"\n") * 20_000)
    tracemalloc.start()
    try:
        reader.read_new()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert reader.offset == 20_000_000
    assert peak < 8_000_000
