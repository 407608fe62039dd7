"""The rows that a person sees while a call waits: aligned, bounded, no word cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from reports.job_cases import NOW, make_job

from sow.cli.live_rows import Row, block_of, fitted, in_one_line, row_of
from sow.ids import TaskId
from sow.reports.activity import Activity
from sow.reports.prospects import Surroundings
from sow.schema.job import Job, JobState
from sow.terminal_text import cells

STAFFED = Surroundings(workers=1, capacity=4)
WIDTH = 79


def running(task: str = "010", **fields: object) -> Job:
    values = {"state": JobState.RUNNING, "started_at": NOW, "task_id": TaskId(task)}
    return make_job(**{**values, **fields})


def doing(words: str, quiet: float = 20.0, **fields: object) -> Surroundings:
    return replace(STAFFED, activity=Activity(words, quiet, **fields))  # type: ignore[arg-type]


def row(job: Job, around: Surroundings = STAFFED) -> Row:
    return row_of(job, around, NOW + 125)


FAILS = row(running("030"), doing("request failed (429), tried again, 4th time", is_hindered=True))
LONG = row(
    running("040", agent="architect"), doing("Bash: npm run a-long-name " + "--option " * 30)
)
QUEUED = row(make_job(state=JobState.QUEUED), replace(STAFFED, running=4))
PARKED = row(make_job(state=JobState.PARKED, retry_at=NOW + 999, reason="a usage limit"))
CASES = [
    row(running("010"), doing("Bash: npm test")),
    row(running("020"), doing("", quiet=75)),
    FAILS,
    LONG,
    row(running("050")),
    QUEUED,
    PARKED,
    row(make_job(state=JobState.PREPARING)),
    row(make_job(state=JobState.QUEUED), Surroundings(paused_since="x")),
]


def test_an_agent_without_a_sign_of_life_is_shown_as_such() -> None:
    stalled = row(running("010"), doing("Bash: npm test", quiet=1500, stalled_seconds=1500.0))
    assert (stalled.does, stalled.colour) == (
        "no sign of life for 25m00s; last: Bash: npm test",
        "error",
    )


def test_each_agent_has_a_row_with_what_it_does_now() -> None:
    assert block_of([*CASES[:4], QUEUED], WIDTH, 9) == [
        "010  2m05s   implementer  Bash: npm test",
        "020  2m05s   implementer  quiet for 1m15s",
        "030  2m05s   implementer  request failed (429), tried again, 4th time",
        "040  2m05s   architect    Bash: npm run a-long-name --option --option …",
        "010  queued  implementer  waits for a slot: 4 of 4 agents run",
    ]


def test_a_narrow_terminal_goes_without_roles_then_without_times() -> None:
    assert block_of([FAILS, QUEUED], 42, 9) == [
        "030  2m05s   request failed (429), tried …",
        "010  queued  waits for a slot: 4 of 4 …",
    ]
    assert block_of([FAILS, QUEUED], 30, 9)[0] == "030  request failed (429), …"


def test_those_that_run_come_first_and_the_others_are_counted() -> None:
    block = block_of([QUEUED, PARKED, *[CASES[0]] * 30, QUEUED], WIDTH, 5)
    assert block == [
        *["010  2m05s  implementer  Bash: npm test"] * 4,
        "+29 more: 26 running, 2 queued, 1 parked",
    ]
    assert block_of([CASES[0]] * 3, WIDTH, 2)[-1] == "+2 more running"
    assert block_of([CASES[0]] * 3, WIDTH, 1) == ["+3 more running"]
    assert block_of([], WIDTH, 5) == []


def test_a_long_silence_is_told_and_what_hinders_is_in_the_colour_of_errors() -> None:
    silent = row(running(), doing("Bash: make", quiet=61))
    assert silent.does == "Bash: make (quiet for 1m01s)"
    painted = block_of([FAILS, QUEUED, PARKED], 120, 9, lambda word, text: f"<{word} {text}>")
    assert painted[0].endswith("<error request failed (429), tried again, 4th time>")
    assert painted[1].endswith("waits for a slot: 4 of 4 agents run")
    assert "<warning again in 14m34s: a usage limit>" in painted[2]


@pytest.mark.parametrize("width", [1, 5, 20, 40, WIDTH, 159])
@pytest.mark.parametrize("count", [1, 2, 5, 30])
def test_no_word_is_cut_and_no_row_is_longer_than_the_terminal(width: int, count: int) -> None:
    rows = (CASES * 4)[:count]
    block = block_of(rows, width, 12)
    assert len(block) <= 12
    assert all(cells(line) <= width for line in block)
    known = {word for each in CASES for column in each for word in column.split()}
    shown = {word for line in block for word in line.split() if not line.startswith("+")}
    assert shown <= known | {"…"}


@given(st.text(), st.integers(0, 90))
def test_any_text_fits_any_width(text: str, width: int) -> None:
    assert cells(fitted(text, width)) <= width


def test_wide_letters_take_two_columns_and_need_no_spaces_to_be_parted() -> None:
    assert fitted("日本語のテキスト", 10) == "日本語の …"
    assert fitted("e\u0301te\u0301", 3) == "e\u0301te\u0301"


def test_of_a_path_without_room_the_end_is_shown() -> None:
    assert (
        fitted("Edit: /a/very/long/path/of/cli/live_rows.py", 30) == "Edit: …/of/cli/live_rows.py"
    )
    assert fitted("Edit: /abcdefghijklm", 10) == "Edit: …"


def test_on_one_line_a_job_is_told_whole() -> None:
    assert in_one_line(CASES[0]) == "010 implementer runs 2m05s: Bash: npm test"
    assert in_one_line(QUEUED) == "010 queued: waits for a slot: 4 of 4 agents run"
    assert in_one_line(CASES[7]) == "010 preparing"
    assert len(in_one_line(LONG)) <= 76
