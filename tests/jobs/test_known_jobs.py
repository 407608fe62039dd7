"""Records that are read on from change to change are those that all records tell."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from queue_cases import insert

from sow.ids import JobId, TaskId
from sow.jobs import changed_jobs, changes, jobs, leases, pruning
from sow.jobs.changed_jobs import WHOLE_SECONDS, LiveJobs
from sow.jobs.database import Database, open_queue
from sow.jobs.jobs import UnknownJob
from sow.jobs.known_jobs import KnownJobs
from sow.paths import Workspace
from sow.schema.job import HeldFor, JobState

NUMBERS = [JobId(1), JobId(2), JobId(3)]


@pytest.fixture
def another(workspace: Workspace, database: Database) -> Iterator[Database]:
    """Another process's connection to the same file."""
    with closing(open_queue(workspace)) as opened:
        yield opened


@pytest.fixture
def three(database: Database) -> Database:
    for task in ("010", "020", "030"):
        insert(database, task)
    return database


def as_they_stand(database: Database) -> list[object]:
    return [jobs.get_job(database, number) for number in NUMBERS]


def test_only_what_somebody_has_changed_is_read_again(three: Database, another: Database) -> None:
    known = KnownJobs(three)
    assert known.read(NUMBERS, at=0.0) == as_they_stand(three)
    assert set(known.fresh) == set(NUMBERS)
    assert known.read(NUMBERS, at=0.0) == as_they_stand(three)
    assert not known.fresh
    jobs.change_job(another, JobId(2), state=JobState.QUEUED)
    known.read(NUMBERS, at=0.0)  # the first time that anything was written: all
    jobs.change_job(another, JobId(2), state=JobState.RUNNING)
    assert known.read(NUMBERS, at=0.0) == as_they_stand(three)
    assert set(known.fresh) == {2}
    jobs.change_job(three, JobId(3), state=JobState.DONE)
    assert known.read(NUMBERS, at=0.0) == as_they_stand(three)
    assert set(known.fresh) == {3}


def test_what_a_held_job_waits_for_is_read_again_though_no_change_tells_it(
    three: Database, another: Database
) -> None:
    held = {"state": JobState.HELD, "held_for": HeldFor.DEPENDENCIES}
    jobs.change_job(three, JobId(1), reason="waits for 020, 030", **held)
    known = KnownJobs(three)
    known.read(NUMBERS, at=0.0)
    for writer, reason in ((another, "waits for 030"), (three, "waits for 040")):
        leases.keep_reason(writer, JobId(1), reason)
        assert known.read(NUMBERS, at=0.0)[0].reason == reason


def test_other_jobs_may_be_asked_for_and_one_that_is_gone_is_none(three: Database) -> None:
    known = KnownJobs(three)
    assert [job.id for job in known.read(NUMBERS[:1], at=0.0)] == [1]
    assert [job.id for job in known.read(NUMBERS[1:], at=0.0)] == [2, 3]
    pruning.forget(three, [JobId(3)])
    with pytest.raises(UnknownJob):
        known.read(NUMBERS, at=0.0)


def prune_changes(database: Database) -> None:
    changes.forget_before(database, 4e9)


def change_many(database: Database) -> None:
    with database.transaction():
        for number in range(changes.AT_ONCE):
            insert(database, f"{number + 1000}")


@pytest.mark.parametrize("hides", [prune_changes, change_many])
def test_all_are_read_where_the_record_of_changes_cannot_tell(
    three: Database, hides: Callable[[Database], None]
) -> None:
    live = LiveJobs(three)
    live.read(at=0.0)
    jobs.change_job(three, JobId(2), state=JobState.DONE)
    insert(three, "900")
    hides(three)
    assert live.read(at=0.0) == jobs.active_jobs(three)


def test_live_jobs_are_read_on(three: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    live = LiveJobs(three)
    assert live.read(at=0.0) == jobs.active_jobs(three)
    jobs.change_job(three, JobId(1), state=JobState.RUNNING)
    jobs.change_job(three, JobId(2), state=JobState.DONE)
    insert(three, "040")
    whole = jobs.active_jobs(three)
    monkeypatch.setattr(jobs, "active_jobs", lambda _: pytest.fail("all were read again"))
    assert live.read(at=WHOLE_SECONDS - 1) == whole
    assert [job.id for job in whole] == [1, 3, 4]


def test_a_pruned_job_is_gone_after_a_while(three: Database) -> None:
    live = LiveJobs(three)
    live.read(at=1.0)
    three.run("delete from job where id = 2")
    assert TaskId("020") in {job.task_id for job in live.read(at=2.0)}
    assert live.read(at=1.0 + WHOLE_SECONDS) == jobs.active_jobs(three)


def test_what_was_to_be_read_is_read_after_a_reading_that_failed(
    three: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = LiveJobs(three)
    live.read(at=0.0)
    jobs.change_job(three, JobId(2), state=JobState.RUNNING)
    with monkeypatch.context() as patch:
        patch.setattr(changed_jobs.jobs, "get_job", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            live.read(at=0.0)
    assert live.read(at=0.0) == jobs.active_jobs(three)
