"""Jobs drawn as rows: below a heading, as many as the terminal has room for."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from reports.job_cases import NOW, make_job

from sow.cli import job_rows
from sow.cli.job_rows import JobRows, LiveBlock
from sow.ids import TaskId
from sow.jobs import jobs
from sow.jobs.database import Database, open_queue
from sow.paths import Workspace
from sow.reports.prospects import Surroundings
from sow.schema.job import Job, JobState


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "10")
    workspace = Workspace(tmp_path)
    workspace.run.mkdir(parents=True)
    with closing(open_queue(workspace)) as opened:
        yield opened


def many(database: Database, count: int) -> list[Job]:
    states = [JobState.QUEUED] * (count - 1) + [JobState.RUNNING]
    made = [
        make_job(task_id=TaskId(f"{number:03}"), state=state, started_at=NOW)
        for number, state in enumerate(states, 1)
    ]
    return [jobs.insert_job(database, job) for job in made]


def drawn(tmp_path: Path, database: Database, found: list[Job], heading: str = "") -> list[str]:
    written: list[str] = []
    JobRows(Workspace(tmp_path), database, LiveBlock(written.append)).draw(found, heading)
    return "".join(written).split("\n")


def test_only_the_jobs_that_are_shown_are_looked_at(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    look: Callable[..., Surroundings] = job_rows.look_around

    def counting(workspace: Workspace, opened: Database, job: Job, **more: object) -> Surroundings:
        looked.append(job.task_id)
        return look(workspace, opened, job, **more)

    monkeypatch.setattr(job_rows, "look_around", counting)
    lines = drawn(tmp_path, database, many(database, 40), "Batch 1")
    assert lines[0] == "Batch 1"
    assert [line.split()[0] for line in lines[1:6]] == ["040", "001", "002", "003", "004"]
    assert lines[6:] == ["+35 more queued"]
    assert looked == ["040", "001", "002", "003", "004", "005"]


def test_what_has_ended_has_no_row(tmp_path: Path, database: Database) -> None:
    ended = make_job(state=JobState.DONE)
    assert drawn(tmp_path, database, [ended]) == [""]


def test_a_row_tells_how_a_job_stands_now_and_not_how_it_was_read_before(
    tmp_path: Path, database: Database
) -> None:
    before = many(database, 3)
    jobs.change_job(database, before[0].id, state=JobState.HELD, reason="waits for 900")
    jobs.change_job(database, before[1].id, state=JobState.CANCELLED)
    lines = drawn(tmp_path, database, before)
    assert [line.split()[0] for line in lines] == ["003", "001"]
    assert "waits for 900" in lines[1]
