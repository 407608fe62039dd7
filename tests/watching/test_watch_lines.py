"""A row as a line: columns by width, nothing wider than the screen, nothing cut in a word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from watching.rows_cases import NOW, ended, live, resting

from sow.schema.task import TaskStatus
from sow.situation.situation import Doing
from sow.watching.lines import (
    GAP,
    MARK,
    columns_within,
    count_words,
    cut,
    fitted,
    length_words,
    now_words,
    row_cells,
    sized,
)

ROW = live(tokens=45_300, usd=0.321, attempts=2, executor="claude-code")
SIZES = sized([ROW], NOW)


def names(width: int) -> list[str]:
    return [column.name for column in columns_within(width, SIZES)]


def test_more_columns_are_shown_where_there_is_room() -> None:
    assert names(60) == ["TASK", "WHO", "STATE", "TOOK", "NOW"]
    assert names(80) == ["TASK", "WHO", "STATE", "TOOK", "NOW", "TOKENS", "COST"]
    assert {"NAME", "ON", "JOB", "TRY"} < set(names(160))


@pytest.mark.slow
@given(st.integers(10, 300), st.text(max_size=80), st.text(max_size=300))
def test_a_line_is_never_wider_than_its_screen(width: int, name: str, words: str) -> None:
    row = live(name=name, tokens=10, usd=1.0)
    columns = columns_within(width, sized([row], NOW))
    cells = list(row_cells(row, {17: Doing(words)}, columns, NOW))
    assert all(
        cell_len(cell.text) == column.width for cell, column in zip(cells, columns, strict=True)
    )
    if width >= 50:
        # The gap behind the last column is beyond the screen.
        assert MARK + sum(column.width + GAP for column in columns) - GAP == width


def test_what_is_cut_off_is_marked_and_no_word_is_cut() -> None:
    assert cut("request failed, tried again", 20) == "request failed …"
    assert cut("a" * 30, 10) == f"{'a' * 9}…"
    assert cell_len(fitted("日本語の説明", 8)) == 8
    assert fitted("7", 3, right=True) == "  7"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-1, "0s"), (59.9, "59s"), (65, "1m05s"), (3725, "1h02m"), (100_000, "1d03h")],
)
def test_a_length_of_time_has_its_two_largest_units(seconds: float, words: str) -> None:
    assert length_words(seconds) == words


def test_a_number_of_tokens_is_told_in_few_letters() -> None:
    found = [count_words(count) for count in (None, 950, 45_300, 1_234_567)]
    assert found == ["", "950", "45k", "1.2M"]


def test_what_an_agent_does_now_is_told_with_how_long_it_has_been_quiet() -> None:
    assert now_words(live(), {17: Doing("Edits a.py", 3.0)}) == "Edits a.py"
    assert now_words(live(), {17: Doing("Edits a.py", 300.0)}) == "Edits a.py; quiet 5m00s"
    assert now_words(live(), {17: Doing("", 300.0)}) == "quiet 5m00s"


def test_what_rests_says_why_whatever_its_job_did() -> None:
    asks = ended(TaskStatus.PAUSED, note="RS256 or HS256?")
    assert now_words(asks, {17: Doing("Edits a.py", 3.0)}) == "RS256 or HS256?"
    assert now_words(resting(TaskStatus.PENDING, note="ready"), {}) == "ready"
