"""A job that is about several tasks: each of them has one live job, whichever kind that is."""

import pytest
from queue_cases import NOW, PROJECT, WORKER, make_job
from recorded_changes import read_after

from sow.ids import AttemptId, ProjectId, TaskId
from sow.jobs import jobs, pruning
from sow.jobs.changes import Filter
from sow.jobs.database import Database
from sow.jobs.jobs import TaskIsTaken
from sow.jobs.live import has_live_job
from sow.schema.job import FINAL_STATES, Attempt, Cause, Job, JobState, Verb
from sow.schema.job_terms import MergeTerms


def merge(database: Database, *tasks: str, **more) -> Job:
    terms = MergeTerms(tasks=tuple(map(TaskId, tasks)))
    job = make_job(tasks[0], verb=Verb.MERGE, executor=None, agent="", terms=terms, **more)
    return jobs.insert_job(database, job)


def live(database: Database, task: str) -> int | None:
    found = jobs.live_job(database, PROJECT, TaskId(task))
    assert has_live_job(database, PROJECT, TaskId(task)) is (found is not None)
    return found.id if found else None


def test_it_is_the_live_job_of_each(database: Database) -> None:
    job = merge(database, "010", "020", "030")
    assert jobs.get_job(database, job.id) == job
    assert [live(database, task) for task in ("010", "020", "030", "040")] == [job.id] * 3 + [None]
    assert jobs.live_job(database, ProjectId("other"), TaskId("020")) is None


@pytest.mark.parametrize("state", [state for state in JobState if not state.is_final])
@pytest.mark.parametrize("task", ["010", "020"])
def test_none_of_them_takes_another_job(database: Database, task: str, state: JobState) -> None:
    job = merge(database, "010", "020", state=state)
    for insert in (
        lambda: jobs.insert_job(database, make_job(task)),
        lambda: merge(database, "030", task),
        lambda: merge(database, task, "030"),
    ):
        with pytest.raises(TaskIsTaken):
            insert()
    assert [found.id for found in jobs.active_jobs(database)] == [job.id], "nothing is left behind"
    assert live(database, "030") is None


def test_it_is_refused_where_one_has_a_live_job(database: Database) -> None:
    jobs.insert_job(database, make_job("020"))
    with pytest.raises(TaskIsTaken):
        merge(database, "010", "020")
    assert live(database, "010") is None


def test_another_project_has_tasks_of_its_own(database: Database) -> None:
    merge(database, "010", "020")
    jobs.insert_job(database, make_job("020", project_id=ProjectId("other")))


@pytest.mark.parametrize("state", sorted(FINAL_STATES))
def test_when_it_has_ended_all_are_free_and_know_it_as_their_last(
    database: Database, state: JobState
) -> None:
    job = merge(database, "010", "020")
    jobs.change_job(database, job.id, state=state, ended_at=NOW)
    assert live(database, "020") is None
    last = jobs.last_job(database, PROJECT, TaskId("020"))
    assert last is not None
    assert last.id == job.id
    later = jobs.insert_job(database, make_job("020"))
    last = jobs.last_job(database, PROJECT, TaskId("020"))
    assert last is not None
    assert last.id == later.id


def test_it_is_listed_with_each(database: Database) -> None:
    job = merge(database, "010", "020")
    for task in ("010", "020"):
        found = jobs.recent_jobs(database, limit=9, project_id=PROJECT, task_id=TaskId(task))
        assert [each.id for each in found] == [job.id]
    assert not jobs.recent_jobs(database, limit=9, project_id=PROJECT, task_id=TaskId("030"))


def test_what_befalls_it_is_on_record_under_each(database: Database) -> None:
    job = merge(database, "010", "030", "020")
    jobs.change_job(database, job.id, state=JobState.RUNNING)
    attempt = Attempt(
        job_id=job.id,
        number=1,
        id=AttemptId("a"),
        verb=Verb.MERGE,
        worker_id=WORKER,
        created_at=NOW,
    )
    jobs.insert_attempt(database, attempt)
    jobs.change_attempt(database, job.id, 1, cause=Cause.PASSED, reason="main is at 1")
    jobs.change_job(database, job.id, cancel_requested_at=NOW)
    jobs.change_job(database, job.id, state=JobState.DONE, ended_at=NOW)
    kinds = ["placed", "running", "attempt_began", "attempt_ended", "cancel_asked", "done"]
    found = {}
    for task in ("010", "020", "030"):
        wanted = Filter(project=PROJECT, task=TaskId(task))
        found[task] = read_after(database, 0, wanted)
        assert [(change.kind, change.job) for change in found[task]] == [
            (kind, job.id) for kind in kinds
        ]
    recorded = [[change.data for change in each] for each in found.values()]
    assert recorded[0] == recorded[1] == recorded[2]
    assert [change.at for change in found["010"]][1:] == [change.at for change in found["030"]][1:]


def test_a_job_of_one_task_is_on_record_once(database: Database) -> None:
    job = jobs.insert_job(database, make_job("020"))
    jobs.change_job(database, job.id, state=JobState.CANCELLED, ended_at=NOW)
    merge(database, "010", "020")
    assert [(change.task, change.kind) for change in read_after(database, 0)] == [
        ("020", "placed"),
        ("020", "cancelled"),
        ("010", "placed"),
        ("020", "placed"),
    ]


def test_its_end_knows_all_and_what_is_forgotten_is_gone(database: Database) -> None:
    job = merge(database, "010", "020")
    jobs.change_job(database, job.id, state=JobState.DONE, ended_at=NOW)
    (ended,) = pruning.ended_jobs(database)
    assert sorted(ended.task_ids) == ["010", "020"]
    pruning.forget(database, [job.id])
    assert not database.rows("select * from occupied")


def test_the_tasks_that_a_job_on_record_is_about(database: Database) -> None:
    """Whether it has ended or not, and also those that it takes along."""
    job = jobs.insert_job(database, make_job("040"))
    jobs.change_job(database, job.id, state=JobState.CANCELLED, ended_at=NOW)
    merge(database, "010", "020")
    asked = [TaskId(task) for task in ("010", "020", "030", "040", "020")]
    assert jobs.tasks_with_jobs(database, PROJECT, asked) == {"010", "020", "040"}
    assert jobs.tasks_with_jobs(database, ProjectId("another"), asked) == set()
