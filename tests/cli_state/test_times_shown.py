"""The times that commands show: local and relative for people, UTC for programs."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from reports.job_cases import make_attempt, make_job

from sow.clock import format_time, utc_now
from sow.ids import ProjectId
from sow.jobs import control, jobs
from sow.jobs.database import open_queue
from sow.paths import Workspace
from sow.schema.job import Cause, JobState
from sow.schema.task import TaskStatus
from sow.state.projects import read_project

Sow = Callable[..., Any]

WRITTEN = "2026-01-31T12:00:05Z"
"""In the past, and of no year whose dates could be today's."""
SHOWN = r"2026-01-31 14:00:05 \(\d+ days ago\)"
ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")
EARLIER = 1_769_860_805.0


@pytest.fixture(autouse=True)
def two_hours_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC-2")
    time.tzset()
    yield
    monkeypatch.delenv("TZ")
    time.tzset()


@pytest.fixture
def aged(begun: Sow, tmp_path: Path) -> Sow:
    """Return a function that runs `sow` where a task, a job and a pause are of another year."""
    for state in tmp_path.glob(".sow/project/phases/*/tasks/*/state.yaml"):
        state.write_text(re.sub(r"20\d\d-\d\d-\d\dT\S+Z", WRITTEN, state.read_text()))
    workspace = Workspace(tmp_path)
    with closing(open_queue(workspace)) as database:
        values = make_job(
            project_id=ProjectId(read_project(workspace).id), task_id="010", created_at=EARLIER
        )
        job = jobs.insert_job(database, values)
        jobs.insert_attempt(database, make_attempt(job_id=job.id, created_at=EARLIER))
        jobs.change_attempt(database, job.id, 1, cause=Cause.REPORTED, ended_at=EARLIER)
        jobs.change_job(
            database,
            job.id,
            state=JobState.DONE,
            cause=Cause.REPORTED,
            outcome_status=TaskStatus.NEEDS_REVIEW,
            ended_at=EARLIER,
        )
        control.pause(database, now=EARLIER)
        database.run("update change set at = ? where kind = 'placed'", (EARLIER,))
    return begun


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("task", "show", "010"), rf"  created +{SHOWN}"),
        (("task", "show", "010"), rf"  updated +{SHOWN}"),
        (("task", "list"), r"010  .* \d+ days ago  .*"),
        (("job", "list"), r"1  .* \d+ days ago  .*"),
        (("job", "show", "1"), rf"queued +{SHOWN}"),
        (("job", "show", "1"), rf"ended +{SHOWN}"),
        (("job", "explain", "1"), rf"Job 1: .*, asked for at {SHOWN}\."),
        (("job", "explain", "1"), r"Attempt 1 .* at 2026-01-31 14:00:05 and ended .*"),
        (("task", "explain", "010"), rf"Job 1: .*, asked for at {SHOWN}\."),
        (("queue", "status"), rf"queue +paused since {SHOWN}"),
        (("changes",), r"2026-01-31 14:00:05  010 +1 +placed: .*"),
        (("doctor",), rf".*The queue has been paused since {SHOWN}"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_people_are_told_local_and_relative_times(
    aged: Sow, words: tuple[str, ...], line: str
) -> None:
    out = aged(*words).out
    assert [shown for shown in out.splitlines() if re.fullmatch(line, shown)], out
    assert not ISO.search(out)


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (("task", "show", "010"), ("created_at", "updated_at")),
        (("task", "list"), ("created_at", "updated_at")),
        (("job", "list"), ("created_at", "ended_at")),
        (("job", "show", "1"), ("created_at", "ended_at")),
        (("job", "explain", "1"), ("created_at", "ended_at")),
        (("queue", "status"), ("paused_since",)),
        (("changes",), ("at",)),
    ],
    ids=" ".join,
)
def test_programs_are_told_utc(aged: Sow, words: tuple[str, ...], keys: tuple[str, ...]) -> None:
    first = aged(*words, "--json").lines[0]
    assert [first[key] for key in keys] == [WRITTEN for _ in keys]


def test_the_sentences_that_programs_get_have_utc_too(aged: Sow) -> None:
    story = aged("job", "explain", "1", "--json").json["story"]
    assert f"asked for at {WRITTEN} (" in story[0]
    assert f" at {WRITTEN} and ended" in story[1]


def test_a_time_of_today_needs_no_date(begun: Sow) -> None:
    """It is asked again where midnight lies between."""
    for _ in range(2):
        shown = begun("task", "show", "010").out
        if found := re.search(r"  updated +\d\d:\d\d:\d\d \((just now|\d+ (s|min) ago)\)\n", shown):
            break
    assert found


def test_when_a_waiting_job_goes_on_is_told_beside_the_change(begun: Sow, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    with closing(open_queue(workspace)) as database:
        values = make_job(project_id=ProjectId(read_project(workspace).id), created_at=utc_now())
        job = jobs.insert_job(database, values)
        jobs.change_job(database, job.id, state=JobState.BACKOFF, retry_at=EARLIER)
    assert "backoff until 2026-01-31 14:00:05" in begun("changes").out
    data = begun("changes", "--json").lines[1]["data"]
    assert data["retry_at"] == format_time(EARLIER)
