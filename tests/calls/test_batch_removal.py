"""A task that is taken out of a batch is the batch's no more: its job, its money, its place."""

import pytest
from calls.batch_desk import begin, placed, turn
from calls.desk import WORKER, Desk
from recorded_changes import read_after
from reports.job_cases import NOW

from sow.calls import batch_actions, batch_changes
from sow.calls.batch_actions import Step
from sow.calls.batch_cancel import cancel_batch
from sow.errors import StateError
from sow.ids import JobId, TaskId
from sow.jobs import batches, leases, messages
from sow.jobs.notifications import event_of
from sow.schema.amounts import Amounts
from sow.schema.batch import Action, BatchState
from sow.schema.job import JobState
from sow.schema.task import TaskStatus


def claim(desk: Desk) -> JobId | None:
    data = leases.claim(desk.database, WORKER, total=9, own=9, now=NOW)
    return None if data is None else messages.job_of(data)


def test_its_job_goes_on_by_itself(desk: Desk) -> None:
    desk.task("010")
    desk.task("020")
    work = begin(desk, budget=Amounts(time=60.0))
    turn(work)
    batch_changes.remove(desk.caller, desk.database, work.batch, [TaskId("010")])
    job = desk.job(1)
    assert (job.batch, job.batch_step, job.state) == (None, None, JobState.QUEUED)
    assert job.budgets is not None
    assert job.budgets.batch is None
    cancel_batch(desk.caller, desk.database, work.batch)
    assert desk.job(1).state is JobState.QUEUED
    assert desk.job(2).state is JobState.CANCELLED


def test_its_end_is_told_as_that_of_a_single_call(desk: Desk) -> None:
    desk.task("010")
    work = begin(desk)
    turn(work)
    batch_changes.remove(desk.caller, desk.database, work.batch, [TaskId("010")])
    desk.end(1, TaskStatus.NEEDS_REVIEW)
    (ended,) = [c for c in read_after(desk.database, 0) if c.kind == "done"]
    assert event_of(desk.database, ended) == "needs_review"


def test_nothing_is_placed_for_it_by_whoever_has_looked_before(desk: Desk) -> None:
    desk.task("010")
    work = begin(desk)
    batch_changes.remove(desk.caller, desk.database, work.batch, [TaskId("010")])
    batch_actions.do(work, Step(TaskId("010"), Action.SPAWN, 1))
    assert placed(work) == []
    assert desk.read().status is TaskStatus.PENDING


def test_its_queued_job_waits_no_more_for_a_paused_batch(desk: Desk) -> None:
    desk.task("010")
    work = begin(desk)
    turn(work)
    batches.change_batch(desk.database, work.batch.id, state=BatchState.PAUSED)
    assert claim(desk) is None
    batch_changes.remove(desk.caller, desk.database, work.batch, [TaskId("010")])
    assert claim(desk) == 1


def test_a_task_of_this_project_is_not_added_to_another_one_s_batch(desk: Desk) -> None:
    desk.task("010")
    desk.task("020")
    work = begin(desk, "010")
    desk.database.run("update batch set project_id = 'another'")
    elsewhere = batches.get_batch(desk.database, work.batch.id)
    with pytest.raises(StateError, match="belongs to another project, which is not checked"):
        batch_changes.add(desk.caller, desk.database, elsewhere, [TaskId("020")])
    assert len(batches.items_of(desk.database, work.batch.id)) == 1


def test_it_may_come_back_and_its_steps_go_on(desk: Desk) -> None:
    desk.task("010")
    work = begin(desk)
    turn(work)
    batch_changes.remove(desk.caller, desk.database, work.batch, [TaskId("010")])
    batch_changes.add(desk.caller, desk.database, work.batch, [TaskId("010")])
    turn(work)
    assert [job.state for job in batches.jobs_of(desk.database, work.batch.id)] == [JobState.QUEUED]
    desk.end(1, TaskStatus.FAILED, JobState.FAILED)
    batch_changes.resume(desk.caller, desk.database, work.batch)
    turn(work)
    assert len(placed(work)) == 2
