"""When it is told that an agent's requests fail: few lines, and none that matters is missing."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from reports.job_cases import NOW, make_job

from sow.cli import happenings
from sow.cli.happenings import AGAIN_SECONDS, FailingRequests
from sow.cli.job_news import JobNews
from sow.ids import BatchId, JobId, TaskId
from sow.jobs import jobs
from sow.jobs.database import Database, open_queue
from sow.paths import Workspace
from sow.reports.activity import Activity
from sow.schema.job import Job, JobState

JOB = make_job(state=JobState.RUNNING)
WORKS = Activity("Bash: npm test", 0.0)
ENDS = Activity("has said its last word", 0.0, has_ended=True)
AGAIN = "implementer (job 1): its requests are answered again"


def fails(count: int) -> Activity:
    return Activity(f"failed {count}", 0.0, is_hindered=True, failures=count)


def words_of(*steps: tuple[float, Activity | None]) -> list[str]:
    """Return what is told where a job does this after so many seconds."""
    failing = FailingRequests()
    found = [failing.tell(JOB, activity, NOW + after) for after, activity in steps]
    return [happening.words for happening in found if happening is not None]


def test_its_begin_each_doubling_and_its_end_are_told() -> None:
    counts = [(float(count), fails(count)) for count in range(1, 11)]
    assert words_of((0.0, WORKS), *counts, (11.0, WORKS), (12.0, WORKS)) == [
        *(f"implementer (job 1): failed {count}" for count in (1, 2, 4, 8)),
        AGAIN,
    ]


def test_requests_that_fail_now_and_then_are_told_once_a_minute_unless_they_fail_oftener() -> None:
    blips = [(float(second), fails(1) if second % 2 else WORKS) for second in range(1, 59)]
    first = ["implementer (job 1): failed 1", AGAIN]
    assert words_of(*blips) == first
    assert words_of(*blips, (59.0, fails(2))) == [*first, "implementer (job 1): failed 2"]
    later = (1.0 + AGAIN_SECONDS, fails(1))
    assert words_of(*blips, later) == [*first, "implementer (job 1): failed 1"]


def test_a_limit_that_is_reached_is_told_once() -> None:
    limit = Activity("a usage limit was reached", 0.0, is_hindered=True)
    words = ["implementer (job 1): a usage limit was reached", AGAIN]
    assert words_of((0.0, limit), (2.0, limit), (4.0, WORKS)) == words


def test_nothing_is_called_answered_before_something_has_come() -> None:
    begun = ["implementer (job 1): failed 1"]
    assert words_of((0.0, fails(1)), (2.0, Activity("", 0.0)), (4.0, None)) == begun
    assert words_of((0.0, fails(1)), (2.0, ENDS), (4.0, WORKS)) == begun
    assert words_of((0.0, WORKS), (2.0, ENDS)) == []


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    workspace = Workspace(tmp_path)
    workspace.run.mkdir(parents=True)
    with closing(open_queue(workspace)) as opened:
        yield opened


def failing_job(database: Database, workspace: Workspace, task: str, **fields: object) -> Job:
    made = make_job(task_id=TaskId(task), state=JobState.RUNNING, **fields)
    job = jobs.insert_job(database, made)
    paths = workspace.attempt(job.id, 1)
    paths.folder.mkdir(parents=True)
    retry = {"type": "system", "subtype": "api_retry", "attempt": 3, "error_status": 429}
    paths.output.write_text(json.dumps({**retry, "error": "x"}) + "\n")
    return job


def test_a_call_tells_of_its_own_jobs_and_looks_at_no_other(
    tmp_path: Path,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    workspace = Workspace(tmp_path)
    ours = failing_job(database, workspace, "010")
    failing_job(database, workspace, "020", batch=BatchId(7))
    looked: list[JobId] = []
    look = happenings.activity_of

    def counting(workspace: Workspace, job: Job, now: float) -> Activity | None:
        looked.append(job.id)
        return look(workspace, job, now)

    monkeypatch.setattr(happenings, "activity_of", counting)
    news = JobNews(workspace, database, since=NOW + 3600)
    for _ in range(3):  # the slow look comes once
        news.tell_of([ours.id])
    assert looked == [ours.id]
    (line,) = capsys.readouterr().err.splitlines()
    failed = "implementer (job {}): request failed (429), tried again, 3rd time"
    assert line.endswith(f"  010   {failed.format(1)}")
    JobNews(workspace, database, since=NOW + 3600).tell_of_batch(BatchId(7))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(f"  020   {failed.format(2)}")


def test_what_runs_no_more_is_forgotten(tmp_path: Path, database: Database) -> None:
    workspace, failing = Workspace(tmp_path), FailingRequests()
    job = failing_job(database, workspace, "010")
    for state, lines in ((JobState.RUNNING, 1), (JobState.BACKOFF, 0), (JobState.RUNNING, 1)):
        jobs.change_job(database, job.id, state=state, retry_at=NOW)
        failing._look_at = 0.0
        assert len(failing.read(workspace, database, lambda _: True, NOW)) == lines


def test_a_request_that_goes_on_failing_is_no_news_with_the_time() -> None:
    later = [(seconds, fails(1)) for seconds in (2.0, AGAIN_SECONDS + 1, 10 * AGAIN_SECONDS)]
    assert words_of((0.0, fails(1)), *later) == ["implementer (job 1): failed 1"]
