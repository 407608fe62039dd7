"""The changes that matter, in words for people; and which of them a waiting call tells."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from reports.job_cases import NOW, make_job

from sow.cli.happenings import Happening, happening_of, happening_on_record
from sow.cli.job_news import JobNews
from sow.clock import clock_time
from sow.ids import AttemptId, BatchId, JobId, ProjectId, TaskId, WorkerId
from sow.jobs import jobs
from sow.jobs.database import Database, open_queue
from sow.paths import Workspace
from sow.schema.change import Change, ChangeData, ChangeKind
from sow.schema.job import Attempt, Cause, Job, JobState, Verb

JOB = make_job(id=JobId(3))
CHECK = make_job(id=JobId(3), agent="", verb=Verb.CHECK, executor=None)


def change(kind: ChangeKind, *, job: int | None = 3, **data: object) -> Change:
    return Change(
        seq=1,
        at=NOW,
        project=ProjectId("p"),
        task=TaskId("010"),
        job=JobId(job) if job else None,
        batch=2,
        kind=kind,
        data=ChangeData(**data),  # type: ignore[arg-type]
    )


def words(kind: ChangeKind, about: Job | None = JOB, **data: object) -> str | None:
    found = happening_of(change(kind, **data), about)
    return found.words if found is not None else None


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [
        (
            ChangeKind.PLACED,
            {"agent": "tester", "executor": "cursor", "verb": "spawn"},
            "implementer is queued for cursor (job 3)",
        ),
        (
            ChangeKind.STALLED,
            {"reason": "no output for 20m"},
            "implementer (job 3): no sign of life: no output for 20m",
        ),
        (ChangeKind.QUEUED, {"before": "preparing"}, None),
        (
            ChangeKind.QUEUED,
            {"before": "running", "cause": "crashed", "reason": "it crashed"},
            "implementer (job 3): queued again: it crashed",
        ),
        (ChangeKind.RUNNING, {}, None),
        (ChangeKind.ATTEMPT_BEGAN, {"attempt": 1}, "implementer starts (job 3)"),
        (ChangeKind.ATTEMPT_BEGAN, {"attempt": 2}, "implementer starts again, attempt 2 (job 3)"),
        (ChangeKind.ATTEMPT_ENDED, {"attempt": 1, "cause": "reported"}, None),
        (
            ChangeKind.ATTEMPT_ENDED,
            {"attempt": 1, "cause": "crashed", "reason": "exit\x1b[2J code 3\nmore"},
            "implementer (job 3): attempt 1 ended: crashed: exit [2J code 3",
        ),
        (ChangeKind.STATUS, {"status": "in_progress"}, None),
        (
            ChangeKind.STATUS,
            {"before": "in_progress", "status": "paused"},
            "status in_progress → paused",
        ),
        (ChangeKind.DONE, {}, None),
        (ChangeKind.FAILED, {"reason": "no"}, "implementer (job 3): job failed: no"),
        (ChangeKind.ITEM, {"status": "running"}, None),
        (ChangeKind.ITEM, {"status": "done"}, "item of batch 2: done"),
        (ChangeKind.OTHER_QUEUE, {"reason": "another queue"}, "another queue"),
    ],
)
def test_a_change_in_words(kind: ChangeKind, data: dict[str, object], expected: str | None) -> None:
    assert words(kind, **data) == expected


def test_the_end_of_a_step_is_told_for_nothing_else_tells_it() -> None:
    assert words(ChangeKind.DONE, CHECK) == "check is done (job 3)"
    assert words(ChangeKind.DONE, None) is None
    assert words(ChangeKind.STATUS, status="in_progress", before="pending") is None
    by_hand = change(ChangeKind.STATUS, job=None, status="in_progress", before="pending")
    assert happening_of(by_hand, None) is not None


@pytest.mark.parametrize("status", ["pending", "completed"])
def test_a_task_that_is_seen_for_the_first_time_is_no_news(status: str) -> None:
    """Else a new queue would tell all tasks of a project."""
    assert happening_of(change(ChangeKind.STATUS, job=None, status=status), None) is None
    by_a_job = happening_of(change(ChangeKind.STATUS, status="paused"), None)
    assert by_a_job is not None


@pytest.mark.parametrize("kind", ChangeKind)
def test_every_kind_makes_one_line_with_its_time(kind: ChangeKind) -> None:
    found = happening_of(change(kind, status="failed", reason="why", before="running"), JOB)
    if found is not None:
        line = found.line(NOW, lambda word, text: f"<{word}>{text}")
        assert line.isprintable()
        assert line.startswith(f"{clock_time(NOW, NOW)}  010   ")
    else:
        assert kind in {ChangeKind.RUNNING, ChangeKind.ADOPTED, ChangeKind.DONE}


def test_without_a_task_a_dash_stands_for_it() -> None:
    assert Happening(NOW, "", "words").line(NOW).endswith("  -     words")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    workspace = Workspace(tmp_path)
    workspace.run.mkdir(parents=True)
    with closing(open_queue(workspace)) as opened:
        yield opened


def attempt(job: Job, number: int) -> Attempt:
    return Attempt(
        job_id=job.id,
        number=number,
        id=AttemptId(f"a{job.id}-{number}"),
        verb=Verb.SPAWN,
        worker_id=WorkerId("w1-aaaaaa"),
        created_at=NOW,
    )


def test_a_call_tells_what_happens_to_its_own_jobs_once(
    tmp_path: Path, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = jobs.insert_job(database, make_job())
    other = jobs.insert_job(database, make_job(task_id=TaskId("020"), batch=BatchId(7)))
    news = JobNews(Workspace(tmp_path), database, since=0.0)
    for job in (ours, other):
        jobs.insert_attempt(database, attempt(job, 1))
    database.run("insert into change (project, task, kind, data) values ('', '', 'k', '5')")
    news.tell_of([ours.id])
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("  010   implementer starts (job 1)")
    news.tell_of([])
    assert capsys.readouterr().err == ""
    fields = {"state": JobState.BACKOFF, "cause": Cause.CRASHED, "reason": "why"}
    jobs.change_job(database, ours.id, retry_at=NOW, **fields)
    jobs.change_job(database, ours.id, state=JobState.FAILED)
    news.tell_of([])
    (line,) = capsys.readouterr().err.splitlines()
    assert "implementer (job 1): backoff until" in line
    JobNews(Workspace(tmp_path), database, since=0.0).tell_of_batch(BatchId(7))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("  020   implementer starts (job 2)")


@pytest.mark.parametrize("kind", ChangeKind)
@pytest.mark.parametrize("about", [JOB, make_job(agent="", verb=Verb.CHECK, executor=None)])
def test_a_change_is_told_the_same_where_its_job_is_read_only_if_need_be(
    database: Database, kind: ChangeKind, about: Job
) -> None:
    job = jobs.insert_job(database, about)
    for data in ({}, {"status": "in_progress"}, {"status": "failed", "before": "running"}):
        what = change(kind, job=job.id, **data)
        assert happening_on_record(what, database) == happening_of(what, job)


@pytest.mark.parametrize(
    ("kind", "colour"),
    [
        (ChangeKind.FAILED, "failed"),
        (ChangeKind.CANCELLED, "failed"),
        (ChangeKind.BACKOFF, "warning"),
        (ChangeKind.PARKED, "warning"),
        (ChangeKind.HELD, "warning"),
        (ChangeKind.ATTEMPT_ENDED, "warning"),
        (ChangeKind.STATUS, "paused"),
        (ChangeKind.ATTEMPT_BEGAN, ""),
    ],
)
def test_a_line_has_the_colour_of_what_it_tells(kind: ChangeKind, colour: str) -> None:
    found = happening_of(change(kind, status="paused", reason="why", before="running"), JOB)
    assert found is not None
    assert found.state == colour
    assert (f"<{colour}>" in found.line(NOW, lambda word, _: f"<{word}>")) is bool(colour)
