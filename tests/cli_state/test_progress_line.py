"""The line that a person sees while a call waits: nothing is cut in mid-word."""

import pytest
from msgspec.structs import replace
from reports.job_cases import NOW, make_job

from sow.cli.progress_words import FORMS, fitted, forms_of
from sow.ids import TaskId
from sow.reports.activity import Activity
from sow.reports.prospects import Surroundings
from sow.schema.job import Job, JobState

STAFFED = Surroundings(workers=1, capacity=4)
WIDTH = 79


def running(task: str, **fields: object) -> Job:
    values = {"state": JobState.RUNNING, "started_at": NOW, "task_id": TaskId(task)}
    return make_job(**{**values, **fields})


def doing(words: str, **fields: object) -> Surroundings:
    return replace(STAFFED, activity=Activity(words, 20.0, **fields))  # type: ignore[arg-type]


def told(job: Job, around: Surroundings = STAFFED) -> tuple[str, ...]:
    return forms_of(job, around, NOW + 125)


CASES = [
    told(running("010"), doing("Bash: npm run a-very-long-name -- " + "--option " * 30)),
    told(running("010"), doing("request failed (429), tried again, 4th time", is_hindered=True)),
    told(running("010")),
    told(make_job(state=JobState.QUEUED), Surroundings(paused_since="x")),
    told(make_job(state=JobState.PREPARING)),
    told(make_job(state=JobState.PARKED, retry_at=NOW + 999, reason="a usage limit was reached")),
]


def test_one_job_has_room_for_what_its_agent_does() -> None:
    line = fitted([told(running("010"), doing("Bash: npm test"))], 0, WIDTH)
    assert line == "010 implementer runs 2m05s, quiet 20s: Bash: npm test"


def test_a_failing_request_is_seen_in_one_and_among_many() -> None:
    fails = told(
        running("010"), doing("request failed (429), tried again, 4th time", is_hindered=True)
    )
    assert "request failed (429), tried again, 4th" in fitted([fails], 0, WIDTH)
    assert fitted([fails] * 5, 3, WIDTH).startswith("010 fails  010 fails  ")


def test_five_tasks_and_the_number_of_the_others_fit_80_columns() -> None:
    line = fitted([told(running(f"0{n}0"), doing("Bash: npm test")) for n in range(1, 6)], 3, WIDTH)
    assert line == "010 2m05s  020 2m05s  030 2m05s  040 2m05s  050 2m05s  +3"
    longest_state = told(make_job(state=JobState.PREPARING))
    assert fitted([longest_state] * 5, 3, WIDTH).count("preparing") == 5


@pytest.mark.parametrize("forms", CASES, ids=lambda forms: forms[0][:30])
@pytest.mark.parametrize("width", [20, 40, WIDTH, 119])
@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_no_word_is_cut_and_no_line_is_longer_than_the_terminal(
    forms: tuple[str, ...], width: int, count: int
) -> None:
    line = fitted([forms] * count, 3, width)
    assert len(line) <= width
    words = {word for form in forms for word in form.split()} | {"…"}
    assert {word for word in line.split() if not word.startswith("+")} <= words | {"…"}
    assert len(forms) == FORMS


def test_what_does_not_fit_is_counted() -> None:
    queued = told(make_job(state=JobState.QUEUED))
    assert fitted([queued] * 5, 3, 30) == "010 queued  010 queued  +6"
    assert fitted([queued] * 5, 0, 4) == "+5"


def test_what_keeps_a_job_is_told() -> None:
    paused = told(make_job(state=JobState.QUEUED), Surroundings(paused_since="x"))
    assert fitted([paused], 0, WIDTH) == (
        "010 queued: the queue is paused (`sow queue resume` lets it go on)"
    )
    full = told(make_job(state=JobState.QUEUED), Surroundings(workers=1, capacity=4, running=4))
    assert fitted([full], 0, WIDTH) == "010 queued: waits for a slot: 4 of 4 agents run"
