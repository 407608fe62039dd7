"""Which changes are events, and that each is told once: by the records alone."""

from pathlib import Path

import pytest
from queue_cases import NOW, OTHER_WORKER, PROJECT, WORKER, insert, leased_job
from recorded_changes import read_after

from sow.ids import JobId, TaskId
from sow.jobs import changes, jobs, leases, notifications
from sow.jobs.database import Database
from sow.jobs.notifications import event_of
from sow.paths import Workspace
from sow.schema.batch import PAUSED_BY_PERSON
from sow.schema.change import Change, ChangeData
from sow.schema.job import Cause, JobState, Verb
from sow.schema.job_terms import MergeTerms
from sow.schema.notification import DeliveryState, NotifyEvent
from sow.schema.task import TaskStatus

ALL = frozenset(NotifyEvent)


def change(kind: str, **fields: object) -> Change:
    known = {name: fields.pop(name) for name in ("job", "batch") if name in fields}
    data = ChangeData(**fields)  # type: ignore[arg-type]
    return Change(seq=1, at=NOW, project=PROJECT, task=TaskId("010"), kind=kind, data=data, **known)


def item(status: str, **fields: object) -> Change:
    return change("item", batch=1, status=status, **fields)


def of_batch(status: str, **fields: object) -> Change:
    return change("batch", batch=1, status=status, **fields)


EVENTS: list[tuple[Change, NotifyEvent | None]] = [
    (change("stalled", reason="no output"), NotifyEvent.STALLED),
    (change("stalled", reason="no output", batch=1), NotifyEvent.STALLED),
    (change("done", status="needs_review"), NotifyEvent.NEEDS_REVIEW),
    (change("done", status="paused"), NotifyEvent.PAUSED),
    (change("done", status="failed"), NotifyEvent.FAILED),
    (change("done", status="completed"), None),
    (change("done"), None),
    (change("failed", cause="crashed"), NotifyEvent.FAILED),
    (change("cancelled", status="paused"), None),
    (change("parked", retry_at="x"), NotifyEvent.PARKED),
    (change("backoff", retry_at="x"), None),
    (change("queued"), None),
    (change("status", status="paused", before="in_progress"), NotifyEvent.PAUSED),
    (change("status", status="failed", before="in_progress"), NotifyEvent.FAILED),
    (change("status", status="needs_review"), None),
    (change("status", status="completed", before="in_progress"), None),
    (change("status", status="paused", before="in_progress", job=9), None),
    (item("needs_person", before="running", reason="x"), NotifyEvent.NEEDS_PERSON),
    (item("needs_person", before="needs_person", reason="y"), None),
    (item("failed", before="running"), None),
    (item("waiting"), None),
    (of_batch("over", before="running"), NotifyEvent.BATCH_DONE),
    (of_batch("over", before="over", reason="x"), None),
    (of_batch("cancelled", before="running"), None),
    (of_batch("paused", before="running", reason=PAUSED_BY_PERSON), None),
    (of_batch("paused", before="running", reason="the same error"), NotifyEvent.BRAKE),
    (change("budget", batch=1), NotifyEvent.WARNING),
    (change("paused"), None),
    (change("done", status="needs_review", batch=1), None),
    (change("failed", batch=1), None),
    (change("parked", batch=1), NotifyEvent.PARKED),
]


def test_each_kind_of_change(database: Database) -> None:
    for reported, event in EVENTS:
        assert event_of(database, reported) is event, reported


def test_a_status_that_a_job_tells_when_it_ends_is_not_told_before(database: Database) -> None:
    job = insert(database)
    reported = change("status", status="needs_review", before="in_progress", job=job.id)
    assert event_of(database, reported) is None
    later = change("status", status="needs_review", before="in_progress")
    jobs.change_job(database, job.id, state=JobState.DONE, outcome_status=TaskStatus.NEEDS_REVIEW)
    assert event_of(database, later) is None, "the end of the job has told it"


def test_a_status_under_a_job_that_tells_none_is_told(database: Database) -> None:
    job = insert(database, verb=Verb.REVIEW)
    reported = change("status", status="needs_review", before="in_progress", job=job.id)
    assert event_of(database, reported) is NotifyEvent.NEEDS_REVIEW


def test_a_job_about_several_tasks_is_told_once(database: Database) -> None:
    """Each of its tasks has a row of what befalls it."""
    notifications.begin(database)
    ids = (TaskId("010"), TaskId("020"), TaskId("030"))
    terms = MergeTerms(tasks=ids, squash=False)
    job = insert(database, verb=Verb.MERGE, executor=None, terms=terms)
    jobs.change_job(database, job.id, state=JobState.FAILED, cause=Cause.MERGE_CONFLICT)
    rows = [row for row in read_after(database, 0) if row.kind == "failed"]
    assert [row.task for row in rows] == list(ids)
    assert [claim(database), claim(database)] == [job.id, None]


def ends(database: Database, task: str) -> JobId:
    """Have a job end so that somebody wants to hear of it."""
    lease = leased_job(database, task)
    leases.settle(database, lease, state=JobState.FAILED, cause=Cause.CRASHED, ended_at=NOW)
    return lease.job_id


def claim(database: Database, **more: object) -> int | None:
    given = {"worker_id": WORKER, "wanted": ALL, "now": NOW, **more}
    claimed = notifications.claim_next(database, **given)  # type: ignore[arg-type]
    return claimed.change.job if claimed is not None else None


def test_each_is_claimed_once_and_in_order(database: Database) -> None:
    notifications.begin(database)
    ids = [ends(database, task) for task in ("010", "020", "030")]
    workers = [WORKER, OTHER_WORKER, WORKER, OTHER_WORKER]
    assert [claim(database, worker_id=name) for name in workers] == [*ids, None]
    assert not notifications.has_news(database)
    assert [each.worker_id for each in notifications.recent(database, 9)] == workers[2::-1]


def test_what_was_there_before_is_not_told(database: Database) -> None:
    ends(database, "010")
    notifications.begin(database)
    notifications.begin(database)
    job_id = ends(database, "020")
    notifications.begin(database)
    assert [claim(database), claim(database)] == [job_id, None]


def test_what_nobody_asked_for_or_is_stale_is_passed_over(database: Database) -> None:
    notifications.begin(database)
    ends(database, "010")
    assert claim(database, wanted={NotifyEvent.PAUSED}) is None
    assert claim(database) is None, "it was passed over for good"
    ends(database, "020")
    assert claim(database, now=NOW + 2 * notifications.STALE_SECONDS) is None


def test_a_damaged_change_hides_no_other(database: Database) -> None:
    notifications.begin(database)
    ends(database, "010")
    database.run("update change set data = '{' where kind = 'failed'")
    job_id = ends(database, "020")
    assert claim(database) == job_id


def test_a_row_of_a_dead_worker_is_uncertain_and_its_late_word_is_void(
    database: Database, workspace: Workspace
) -> None:
    notifications.begin(database)
    ends(database, "010")
    claim(database)
    assert notifications.has_orphans(database, workspace), "no such worker is on record"
    (lost,) = notifications.call_uncertain(database, workspace, now=NOW)
    assert notifications.call_uncertain(database, workspace, now=NOW) == []
    notifications.finish(database, lost.seq, DeliveryState.DELIVERED, reason="", now=NOW)
    (row,) = notifications.recent(database, 9)
    assert (row.state, row.reason) == (
        DeliveryState.UNCERTAIN,
        f"worker {WORKER} died while the command ran",
    )


def test_old_ones_are_forgotten(database: Database, tmp_path: Path) -> None:
    notifications.begin(database)
    ends(database, "010")
    claim(database)
    notifications.forget_before(database, NOW)
    assert len(notifications.recent(database, 9)) == 1
    notifications.forget_before(database, NOW + 1)
    assert notifications.recent(database, 9) == []
    assert changes.newest(database).seq > 0


@pytest.mark.slow
def test_a_long_record_is_looked_through_in_pieces_that_let_others_write(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Notifications were switched off for a month, say."""
    notifications.begin(database)
    for number in range(2 * changes.AT_ONCE):
        database.run(
            "insert into change (at, project, task, kind, data) values (1, ?, '010', 'failed', ?)",
            (PROJECT, f'{{"reason": "{number}"}}'),
        )
    begins_at = changes.newest(database).seq - 2 * changes.AT_ONCE
    looks = 0

    def rows_after(*given: object, **more: object) -> object:
        nonlocal looks
        looks += 1
        if looks == 3:
            raise NameError("killed")
        return read(*given, **more)  # type: ignore[arg-type]

    read = changes.rows_after
    asked: list[object] = []
    monkeypatch.setattr(changes, "rows_after", rows_after)
    monkeypatch.setattr(
        notifications, "event_of", lambda *given: asked.append(given) or event_of(*given)
    )
    job_id = ends(database, "020")
    with pytest.raises(NameError):
        claim(database)
    row = database.row("select value from control where name = ?", (notifications.TOLD_UP_TO,))
    assert row is not None
    assert int(row["value"]) >= begins_at + 2 * changes.AT_ONCE - 1, "two pieces were passed over"
    assert asked == [], "nobody asks what stale changes are"
    assert claim(database) == job_id


def test_what_was_pruned_before_anybody_looked_is_no_news(database: Database) -> None:
    notifications.begin(database)
    ends(database, "010")
    database.run("delete from change")
    assert claim(database) is None
    assert not notifications.has_news(database), "else each look would wake the notifier"
