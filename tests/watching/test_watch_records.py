"""Records that are read on from change to change are those that all records tell."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from reports.job_cases import make_attempt, make_job

from sow.ids import JobId, ProjectId, TaskId
from sow.jobs import changes, jobs
from sow.jobs.changed_jobs import WHOLE_SECONDS
from sow.jobs.database import Database, open_queue
from sow.paths import Workspace
from sow.schema.job import JobState, Verb
from sow.schema.job_terms import MergeTerms
from sow.watching.records import Records

PROJECT = ProjectId("p")
TASKS = [TaskId("010"), TaskId("020"), TaskId("030")]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    (tmp_path / ".sow").mkdir()
    with closing(open_queue(Workspace(tmp_path))) as database:
        yield database


def read(records: Records, database: Database, at: float = 0.0) -> Records:
    records.read_on(database, PROJECT, TASKS, changes.newest(database), at=at)
    return records


def place(database: Database, task: str, **fields: Any) -> JobId:
    values = {"task_id": TaskId(task), "state": JobState.QUEUED, **fields}
    return jobs.insert_job(database, make_job(**values)).id


def shown(records: Records) -> tuple[Any, Any, Any]:
    on_view = {*records.live, *(job.id for job in records.last.values())}
    attempts = {job: count for job, count in records.attempts.items() if job in on_view}
    return records.live, records.last, attempts


def test_what_is_read_on_is_what_all_records_tell(database: Database) -> None:
    records = read(Records(), database)
    first = place(database, "010")
    assert shown(read(records, database)) == shown(read(Records(), database))
    jobs.change_job(database, first, state=JobState.RUNNING)
    jobs.insert_attempt(database, make_attempt(job_id=first))
    assert shown(read(records, database)) == shown(read(Records(), database))
    assert records.attempts[first] == 1
    jobs.change_job(database, first, state=JobState.FAILED, ended_at=2e9)
    terms = MergeTerms(tasks=(TaskId("010"), TaskId("020")))
    merge = place(database, "010", verb=Verb.MERGE, agent="", executor=None, terms=terms)
    place(database, "900", project_id=ProjectId("other"))
    assert shown(read(records, database)) == shown(read(Records(), database))
    assert [records.last[task].id for task in TASKS[:2]] == [merge, merge]
    assert len(records.live) == 2


def test_only_what_has_changed_is_read(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    place(database, "010")
    records = read(Records(), database)
    monkeypatch.setattr(jobs, "active_jobs", lambda _: pytest.fail("all were read again"))
    place(database, "020")
    assert set(read(records, database).last) == {"010", "020"}


def test_what_was_pruned_is_gone_after_a_while(database: Database) -> None:
    place(database, "010", state=JobState.DONE, ended_at=2e9)
    records = read(Records(), database)
    database.run("delete from job")
    assert read(records, database, at=1.0).last
    assert not read(records, database, at=1.0 + WHOLE_SECONDS).last


def test_all_is_read_where_the_record_of_changes_has_a_gap(database: Database) -> None:
    place(database, "010")
    records = read(Records(), database)
    job = place(database, "020")
    changes.forget_before(database, 4e9)
    assert records.read_on(database, PROJECT, TASKS, changes.newest(database), at=0.0) is None
    assert job in records.live
