"""What is found, counted and marked of jobs, where one row more or less would be a wrong word."""

import pytest
from queue_cases import NOW, PROJECT, WORKER, make_job

from sow.ids import ProjectId, TaskId
from sow.jobs import jobs, leases
from sow.jobs.database import Database
from sow.schema.causes import Cause
from sow.schema.job import Job, JobState, Lease, Verb
from sow.schema.job_terms import MergeTerms

TASK = TaskId("010")
ELSEWHERE = ProjectId("99999999-9999-4999-8999-999999999999")


def claimed(database: Database, job: Job, *, now: float = NOW) -> Lease:
    """Queue a job, if it is not there yet, and take it."""
    leases.enqueue(database, job.id, now=now)
    leases.claim(database, WORKER, total=9, own=9, now=now)
    lease = leases.lease_of(database, job.id)
    assert lease is not None
    return lease


def test_a_job_that_is_tried_again_began_when_it_was_first_taken(database: Database) -> None:
    job = jobs.insert_job(database, make_job("010"))
    lease = claimed(database, job)
    leases.requeue(database, lease, state=JobState.QUEUED, retry_at=0.0, now=NOW)
    claimed(database, job, now=NOW + 60)
    assert jobs.get_job(database, job.id).started_at == NOW


def test_a_job_whose_end_is_asked_for_is_not_queued_again(database: Database) -> None:
    job = jobs.insert_job(database, make_job("010"))
    lease = claimed(database, job)
    jobs.change_job(database, job.id, cancel_requested_at=NOW)
    with pytest.raises(leases.EndIsAsked):
        leases.requeue(database, lease, state=JobState.QUEUED, retry_at=0.0, now=NOW)
    assert leases.lease_of(database, job.id) == lease
    assert database.row("select 1 from task") is None


def test_who_lives_is_a_job_that_runs_before_one_that_waits(database: Database) -> None:
    assert jobs.any_live_job(database, PROJECT) is None
    first, second, third = (jobs.insert_job(database, make_job(f"0{n}0")) for n in (1, 2, 3))
    assert jobs.any_live_job(database, PROJECT) == third.id
    lease = claimed(database, first)
    claimed(database, second)
    assert jobs.any_live_job(database, PROJECT) == second.id
    assert jobs.any_live_job(database, ELSEWHERE) is None
    leases.settle(database, lease, state=JobState.DONE, ended_at=NOW)
    assert jobs.any_live_job(database, PROJECT) == second.id


def test_what_waits_for_a_persons_word_is_not_released_by_its_dependencies(
    database: Database,
) -> None:
    job = jobs.insert_job(database, make_job("010"))
    leases.hold(database, claimed(database, job), reason="not accepted")
    assert not leases.release(database, job.id, now=NOW)
    assert jobs.get_job(database, job.id).state is JobState.HELD


def test_what_a_person_queues_in_a_session_is_not_of_the_family_above_it(
    database: Database,
) -> None:
    top = jobs.insert_job(database, make_job("010"))
    opened = jobs.insert_job(database, make_job("020", verb=Verb.OPEN, parent=top.id))
    below = jobs.insert_job(database, make_job("030", parent=opened.id))
    assert [job.id for job in jobs.descendants(database, top.id)] == [opened.id]
    assert [job.id for job in jobs.descendants(database, opened.id)] == [below.id]


@pytest.mark.parametrize(
    ("causes", "in_a_row"),
    [
        ((), 0),
        ((Cause.MERGE_REFUSED,) * 2, 2),
        ((Cause.MERGE_REFUSED, Cause.PASSED), 0),
        ((Cause.MERGE_REFUSED, Cause.PASSED, Cause.MERGE_REFUSED), 1),
    ],
)
def test_refused_merges_are_counted_up_to_one_that_was_not(
    database: Database, causes: tuple[Cause, ...], in_a_row: int
) -> None:
    for cause in causes:
        ended = make_job("010", verb=Verb.MERGE, state=JobState.FAILED, cause=cause)
        jobs.insert_job(database, ended)
    assert jobs.refused_merges(database, PROJECT, TASK) == in_a_row


def test_a_refused_merge_of_several_tasks_counts_for_none_of_them(database: Database) -> None:
    """Another one of them may be at fault."""
    refused = {"verb": Verb.MERGE, "state": JobState.FAILED, "cause": Cause.MERGE_REFUSED}
    both = MergeTerms(tasks=(TaskId("010"), TaskId("020")))
    jobs.insert_job(database, make_job("010", terms=both, **refused))
    jobs.insert_job(database, make_job("010", **refused))
    counts = [jobs.refused_merges(database, PROJECT, TaskId(task)) for task in ("010", "020")]
    assert counts == [1, 0]


def test_what_a_job_owes_its_task_is_paid_once(database: Database) -> None:
    job = jobs.insert_job(database, make_job("010", state=JobState.CANCELLED, owes_task=True))
    assert jobs.pay_task(database, job.id)
    assert not jobs.pay_task(database, job.id)


def test_a_job_gets_no_number_whose_output_lies_there(database: Database) -> None:
    first = jobs.insert_job(database, make_job("010"))
    (database.run_folder / "jobs" / str(first.id + 1)).mkdir(parents=True)
    assert jobs.insert_job(database, make_job("020")).id == first.id + 2
