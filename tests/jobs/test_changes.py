"""The record of changes: what writes it, who reads it from where, and what it forgets."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from queue_cases import NOW, OTHER_WORKER, PROJECT, WORKER, insert, leased_job
from recorded_changes import read_after

from sow.errors import ExitCode, UsageError
from sow.ids import AttemptId, JobId, TaskId
from sow.jobs import changes, jobs, leases, pruning
from sow.jobs.change_feed import ChangeFeed
from sow.jobs.changes import Cursor, Filter, parse_cursor
from sow.jobs.database import Database, open_queue
from sow.paths import Workspace
from sow.schema.change import Change, ChangeKind
from sow.schema.job import Attempt, Cause, Job, JobState, Verb
from sow.schema.task import TaskStatus

TASK = TaskId("010")


def recorded(database: Database, *, after: int = 0) -> list[tuple[str, str | None]]:
    """Return kind and cause (or what was before) of each change on record."""
    return [
        (change.kind, change.data.cause or change.data.before)
        for change in read_after(database, after)
    ]


def attempt_of(job: JobId, number: int = 1) -> Attempt:
    return Attempt(
        job_id=job,
        number=number,
        id=AttemptId(f"{job}.{number}.x"),
        verb=Verb.SPAWN,
        worker_id=WORKER,
        session_id="s",
        created_at=NOW,
    )


@pytest.fixture
def feed(workspace: Workspace) -> Iterator[Callable[..., ChangeFeed]]:
    made: list[ChangeFeed] = []

    def make(
        since: str | None = None, wanted: Filter = changes.EVERYTHING, **more: int
    ) -> ChangeFeed:
        cursor = parse_cursor(since) if since else None
        made.append(ChangeFeed(workspace, cursor, wanted, **more))
        return made[-1]

    yield make
    for each in made:
        each.close()


def read(feed: ChangeFeed) -> list[Change]:
    return list(feed.read(now=NOW))


# What is written


@pytest.mark.parametrize("before", JobState)
def test_no_change_of_a_job_s_state_is_without_its_row(
    database: Database, before: JobState
) -> None:
    for number, after in enumerate(set(JobState) - {JobState.PREPARING}):
        job = insert(database, f"{number:03d}", state=before)
        start = changes.newest(database).seq
        jobs.change_job(database, job.id, state=after, cause=Cause.CRASHED, reason="why")
        jobs.change_job(database, job.id, state=after, cost_usd=1.0, reason="another")
        rows = read_after(database, start)
        if before is after:
            assert rows == []
            continue
        (row,) = rows
        assert (ChangeKind(row.kind), row.data.before) == (after.value, before.value)
        assert (row.job, row.task) == (job.id, job.task_id)
        assert row.data.cause == (None if after is JobState.RUNNING else Cause.CRASHED)


def test_a_job_s_way_is_told_step_by_step(database: Database) -> None:
    lease = leased_job(database)
    job_id = lease.job_id
    jobs.insert_attempt(database, attempt_of(job_id))
    jobs.change_attempt(database, job_id, 1, cause=Cause.RATE_LIMITED, exit_code=1, ended_at=NOW)
    leases.requeue(
        database,
        lease,
        state=JobState.PARKED,
        retry_at=NOW - 1,
        now=NOW,
        cause=Cause.RATE_LIMITED,
        reason="a limit",
    )
    leases.claim(database, WORKER, total=9, own=9, now=NOW)
    jobs.change_job(database, job_id, cancel_requested_at=NOW)
    again = leases.take_over(database, WORKER, OTHER_WORKER, now=NOW)[0]
    leases.settle(database, again, state=JobState.CANCELLED, cause=Cause.CANCELLED, ended_at=NOW)
    assert recorded(database) == [
        ("placed", None),
        ("queued", "preparing"),
        ("running", "queued"),
        ("attempt_began", None),
        ("attempt_ended", "rate_limited"),
        ("parked", "rate_limited"),
        ("running", "parked"),
        ("cancel_asked", None),
        ("adopted", WORKER),
        ("cancelled", "cancelled"),
    ]
    (parked,) = [row for row in read_after(database, 0) if row.kind == "parked"]
    assert parked.data.reason == "a limit"
    assert parked.data.retry_at is not None, "what is written besides is known by then"
    assert all(row.project == PROJECT and row.job == job_id for row in read_after(database, 0))


def test_a_job_that_ends_while_it_waits_is_asked_first(database: Database) -> None:
    job = insert(database)
    jobs.change_job(database, job.id, state=JobState.CANCELLED, cancel_requested_at=NOW)
    assert [kind for kind, _ in recorded(database)] == ["placed", "cancel_asked", "cancelled"]


def test_a_cause_that_is_judged_anew_is_told_and_the_same_is_not(database: Database) -> None:
    job = insert(database)
    jobs.insert_attempt(database, attempt_of(job.id))
    start = changes.newest(database).seq
    jobs.change_attempt(database, job.id, 1, ended_at=NOW)
    for cause in (Cause.NO_STATUS, Cause.NO_STATUS, Cause.REPORTED):
        jobs.change_attempt(database, job.id, 1, cause=cause)
    assert recorded(database, after=start) == [
        ("attempt_ended", "no_status"),
        ("attempt_ended", "reported"),
    ]


def test_what_is_rolled_back_was_never_told(database: Database) -> None:
    job = insert(database)
    start = changes.newest(database)

    def change_and_fail() -> None:
        with database.transaction():
            jobs.change_job(database, job.id, state=JobState.QUEUED)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        change_and_fail()
    assert changes.newest(database) == start
    assert recorded(database, after=start.seq) == []


@pytest.mark.queue_file
def test_raw_sql_is_told_too(database: Database, workspace: Workspace) -> None:
    """A trigger writes the row, so no function of ours and no older sow can leave it out."""
    job = insert(database)
    with closing(sqlite3.connect(workspace.queue_db)) as other:
        other.execute("update job set state = 'done'")
        other.commit()
    assert recorded(database) == [("placed", None), ("done", "preparing")]
    assert jobs.get_job(database, job.id).state is JobState.DONE


def test_a_job_that_skips_a_number_is_told_under_its_own(
    database: Database, workspace: Workspace
) -> None:
    workspace.job(JobId(1)).mkdir(parents=True)
    workspace.job(JobId(6)).mkdir()
    job = insert(database)
    assert job.id == 7
    assert insert(database, "020").id == 8
    assert [row.job for row in read_after(database, 0)] == [7, 8]


@settings(
    max_examples=min(50, settings.default.max_examples),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_any_words_are_told(database: Database, text: str) -> None:
    with database.transaction():
        database.run("delete from job")
        job = insert(database)
        jobs.change_job(database, job.id, state=JobState.FAILED, reason=text)
    (row,) = read_after(database, changes.newest(database).seq - 1)
    assert (row.data.reason or "").startswith(text[:1000].partition("\0")[0])


def test_the_time_is_that_of_the_change(database: Database) -> None:
    (row,) = _rows_of(database, insert(database))
    assert abs(row.at - time.time()) < 60


def _rows_of(database: Database, job: Job) -> list[Change]:
    return read_after(database, 0, Filter(job=job.id))


def test_what_a_file_of_an_older_sow_holds_is_told_once(workspace: Workspace) -> None:
    from sow.jobs.migrations import statements

    with closing(open_queue(workspace)) as database:
        insert(database, "010", state=JobState.DONE, cause=Cause.REPORTED)
        insert(database, "020", state=JobState.QUEUED)
        with database.transaction():  # as the step finds it, that makes the record
            database.run("delete from change")
            (statement,) = [each for each in statements(2) if "from job order by id" in each]
            database.run(statement)
        assert recorded(database) == [("done", "reported"), ("queued", None)]


# Cursors


def test_a_cursor_goes_on_where_it_stands(
    database: Database, feed: Callable[..., ChangeFeed]
) -> None:
    insert(database, "010")
    first = feed()
    assert [row.kind for row in read(first)] == ["placed"]
    assert read(first) == []
    insert(database, "020")
    (row,) = read(first)
    assert row.task == "020"
    assert read(feed(str(first.cursor))) == []


@pytest.mark.queue_file
def test_a_cursor_of_another_file_is_told_everything_once(
    database: Database, workspace: Workspace, feed: Callable[..., ChangeFeed]
) -> None:
    insert(database, "010")
    reader = feed()
    read(reader)
    cursor = str(reader.cursor)
    database.close()
    for path in workspace.run.glob("queue.db*"):
        path.unlink()
    with closing(open_queue(workspace)) as anew:
        assert changes.file_id(anew) != cursor.partition("-")[0]
        insert(anew, "020")
        insert(anew, "030")
        later = feed(cursor)
        assert [row.kind for row in read(later)] == ["other_queue", "placed", "placed"]
        assert read(later) == []
        assert [row.kind for row in read(reader) + read(reader)] == [
            "other_queue",
            "placed",
            "placed",
        ]


def test_a_file_that_was_put_back_to_an_earlier_state_is_told_anew(
    database: Database, feed: Callable[..., ChangeFeed]
) -> None:
    insert(database)
    ahead = Cursor(changes.file_id(database), 77)
    assert [row.kind for row in read(feed(str(ahead)))] == ["other_queue", "placed"]


def test_without_a_queue_there_is_nothing_and_then_everything(
    workspace: Workspace, feed: Callable[..., ChangeFeed]
) -> None:
    reader = feed()
    assert read(reader) == []
    assert not workspace.queue_db.exists(), "a reader makes none"
    with closing(open_queue(workspace)) as database:
        insert(database)
        assert [row.kind for row in read(reader)] == ["placed"]


@pytest.mark.parametrize("text", ["", "x", "12", "0123456789ab", "0123456789ab-", "A-1", "-1"])
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a cursor:") as caught:
        parse_cursor(text)
    assert caught.value.exit_code == ExitCode.USAGE
    assert "--since" in caught.value.hint


def test_filters_and_the_last_ones(database: Database, feed: Callable[..., ChangeFeed]) -> None:
    for task in ("010", "020", "010"):
        job = insert(database, task)
        jobs.change_job(database, job.id, state=JobState.DONE)
    kinds = [row.job for row in read(feed(wanted=Filter(task=TASK)))]
    assert kinds == [1, 1, 3, 3]
    assert [row.job for row in read(feed(wanted=Filter(job=JobId(2))))] == [2, 2]
    assert [row.seq for row in read(feed(last=1))] == [6]
    assert [row.seq for row in read(feed(wanted=Filter(task=TASK), last=3))] == [2, 5, 6]
    assert read(feed(last=0)) == []
    assert len(read(feed(last=99))) == 6


# Pruning


def test_numbers_never_come_again_and_a_gap_is_told(
    database: Database, feed: Callable[..., ChangeFeed]
) -> None:
    for task in ("010", "020", "030"):
        insert(database, task)
    middle = str(Cursor(changes.file_id(database), 1))
    database.run("update change set at = ?", (NOW - 100,))
    assert changes.count_before(database, NOW) == 3
    assert changes.forget_before(database, NOW) == 3
    assert changes.newest(database).seq == 3
    assert [row.kind for row in read(feed(middle))] == ["pruned"]
    assert read(feed(str(Cursor(changes.file_id(database), 3)))) == [], "it has read all of them"
    insert(database, "040")
    gap, row = read(feed(middle))
    assert (gap.kind, gap.seq, gap.data.reason) == (
        "pruned",
        3,
        "2 changes after the cursor are missing: they were pruned",
    )
    assert row.seq == 4
    assert [row.seq for row in read(feed())] == [4], "without a cursor nothing is missed"


@pytest.mark.parametrize("wanted", [changes.EVERYTHING, Filter(task=TaskId("010"))])
def test_what_is_pruned_while_a_reader_reads_is_a_gap_too(
    database: Database,
    feed: Callable[..., ChangeFeed],
    monkeypatch: pytest.MonkeyPatch,
    wanted: Filter,
) -> None:
    monkeypatch.setattr(changes.rows_after, "__kwdefaults__", {"limit": 2})
    job = insert(database)
    for _ in range(3):
        jobs.change_job(database, job.id, state=JobState.BACKOFF)
        jobs.change_job(database, job.id, state=JobState.QUEUED)
    reader = feed(wanted=wanted).read(now=NOW)
    seen = [next(reader), next(reader)]
    database.run("update change set at = ? where seq < 5", (NOW - 100,))
    changes.forget_before(database, NOW)
    seen += reader
    kinds = [(row.seq, row.kind) for row in seen]
    assert kinds[2] == (4, "pruned")
    assert seen[2].data.reason == "2 changes after the cursor are missing: they were pruned"
    assert [row.seq for row in seen if row.kind != "pruned"] == [1, 2, 5, 6, 7]


def test_what_was_read_before_it_was_pruned_is_no_gap(
    database: Database, feed: Callable[..., ChangeFeed]
) -> None:
    for task in ("010", "020", "030"):
        insert(database, task)
    reader = feed().read(now=NOW)
    seen = [next(reader)]
    database.run("update change set at = ?", (NOW - 100,))
    changes.forget_before(database, NOW)
    seen += reader
    assert [(row.seq, row.kind) for row in seen] == [(n, "placed") for n in (1, 2, 3)]


def test_a_row_that_somebody_else_wrote_hides_no_other(
    database: Database, feed: Callable[..., ChangeFeed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes.rows_after, "__kwdefaults__", {"limit": 2})
    insert(database, "010")
    for data, at in (("5", 1), ("{", 1), (b"\xff", 1), ('{"attempt":"x"}', 1), ("{}", 1e300)):
        database.run(
            "insert into change (at, project, task, kind, data) values (?, 'p', '010', 'k', ?)",
            (at, data),
        )
    insert(database, "020")
    reader = feed()
    assert [(row.seq, row.task) for row in read(reader)] == [(1, "010"), (7, "020")]
    assert "change with seq 6" in reader.damaged
    assert reader.cursor is not None
    assert reader.cursor.seq == 7


def test_a_time_that_is_still_to_come_keeps_no_old_changes(database: Database) -> None:
    """The clock was wrong for a moment, long ago."""
    for task in ("010", "020", "030", "040"):
        insert(database, task)
    database.run("update change set at = ?", (NOW - 100,))
    database.run("update change set at = ? where seq = 2", (NOW + 1e9,))
    database.run("update change set at = ? where seq = 4", (NOW - 1,))
    assert changes.count_before(database, NOW - 50, now=NOW) == 3
    assert changes.forget_before(database, NOW - 50, now=NOW) == 3
    assert [row.seq for row in read_after(database, 0)] == [4]
    database.run("update change set at = ?", (NOW + 1e9,))
    assert changes.forget_before(database, NOW - 50, now=NOW) == 0, "perhaps now is wrong"


def test_what_is_left_has_no_gap(database: Database) -> None:
    """A clock that was set back leaves an old time between newer ones."""
    for task in ("010", "020", "030"):
        insert(database, task)
    database.run("update change set at = ? where seq <> 2", (NOW - 100,))
    assert changes.forget_before(database, NOW) == 1
    assert [row.seq for row in read_after(database, 0)] == [2, 3]
    assert changes.forgotten(database) == 1


def test_a_job_that_is_pruned_leaves_its_changes(database: Database) -> None:
    job = insert(database, state=JobState.DONE, ended_at=NOW, outcome_status=TaskStatus.COMPLETED)
    pruning.forget(database, [job.id])
    assert [row.job for row in read_after(database, 0)] == [job.id]


@pytest.mark.slow
def test_many_changes_are_read_in_pieces(
    database: Database, feed: Callable[..., ChangeFeed], monkeypatch: pytest.MonkeyPatch
) -> None:
    with database.transaction():
        for number in range(10_000):
            database.run(
                "insert into change (project, task, kind, data) values ('p', ?, 'status', '{}')",
                (f"{number % 7:03d}",),
            )
    asked: list[int] = []
    whole = changes.rows_after

    def noting(*args: object, **more: object) -> list[sqlite3.Row]:
        found = whole(*args, **more)  # type: ignore[arg-type]
        asked.append(len(found))
        return found

    monkeypatch.setattr(changes, "rows_after", noting)
    assert [row.seq for row in read(feed())] == list(range(1, 10_001))
    assert asked == [1000] * 10 + [0]


@pytest.mark.queue_file
def test_a_reader_by_number_reads_no_more_than_is_new(database: Database) -> None:
    sql = "explain query plan select * from change where seq > ? order by seq limit ?"
    (plan,) = database.rows(sql, (1, 1))
    assert "SEARCH change USING INTEGER PRIMARY KEY" in plan["detail"]


@pytest.mark.queue_file
def test_the_record_of_a_file_of_today_has_its_triggers(database: Database, tmp_path: Path) -> None:
    names = {
        row["name"]
        for row in database.rows("select name from sqlite_master where type = 'trigger'")
    }
    assert names == {
        "change_of_new_job",
        "change_of_job",
        "change_of_new_attempt",
        "change_of_attempt",
        "change_of_lease",
        "change_of_shortage",
        "change_of_shortage_gone",
        "spent_by_new",
        "spent_by_changed",
        "spent_by_gone",
        "occupied_is_taken",
        "job_is_occupied",
        "occupied_is_over",
        "occupied_is_gone",
        "change_of_occupied",
        "change_of_each_task",
        "item_is_seen_to",
        "change_of_new_batch",
        "change_of_status_in_batch",
        "change_of_batch",
        "change_of_new_item",
        "change_of_item",
        "change_of_removed_item",
        "history_of_new_job",
        "history_of_job",
        "cause_of_spending",
    }
