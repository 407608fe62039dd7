"""Resuming a batch: what has come to nothing goes on once, and nothing that lives is forgiven."""

import pytest
from calls.batch_desk import batch, begin, items, look, placed, turn
from calls.desk import Desk

from sow.calls import batch_changes
from sow.calls.batch_changes import BatchHasEnded
from sow.calls.batch_look import Work
from sow.ids import TaskId
from sow.jobs import batches, jobs
from sow.schema.batch import BatchState, ItemState
from sow.schema.job import HeldFor, JobState
from sow.schema.task import TaskStatus

FIRST, SECOND = ("010", "spawn", 1), ("010", "spawn", 2)


@pytest.fixture
def work(desk: Desk) -> Work:
    desk.task("010")
    desk.task("020", TaskStatus.PAUSED)  # so that the batch is not over
    made = begin(desk)
    turn(made)
    return made


def fail(desk: Desk, number: int) -> None:
    desk.end(number, TaskStatus.FAILED, JobState.FAILED)


def resume(work: Work) -> None:
    batch_changes.resume(work.caller, work.database, batch(work))


def test_what_has_failed_goes_on_once_however_often_it_is_resumed(desk: Desk, work: Work) -> None:
    fail(desk, 1)
    turn(work)
    resume(work)
    resume(work)
    turn(work)
    resume(work)
    turn(work)
    assert placed(work) == [FIRST, SECOND]
    fail(desk, 2)
    turn(work)
    assert placed(work) == [FIRST, SECOND], "that was after the last word on it"
    assert items(work)["010"] is ItemState.FAILED


def test_a_job_that_is_held_is_not_forgiven_before_it_has_run(desk: Desk, work: Work) -> None:
    held = {"state": JobState.HELD, "held_for": HeldFor.TRUST}
    jobs.change_job(desk.database, desk.job(1).id, **held)
    turn(work)
    assert items(work)["010"] is ItemState.NEEDS_PERSON
    resume(work)
    fail(desk, 1)
    turn(work)
    assert placed(work) == [FIRST]
    assert items(work)["010"] is ItemState.FAILED


def test_a_failure_that_nobody_was_told_of_yet_is_forgiven(desk: Desk, work: Work) -> None:
    fail(desk, 1)
    assert items(work)["010"] is ItemState.WAITING
    resume(work)
    turn(work)
    assert placed(work) == [FIRST, SECOND]


def test_a_refusal_that_nobody_was_told_of_yet_is_taken_back(desk: Desk) -> None:
    desk.task("010")
    work = begin(desk)
    batches.change_item(desk.database, work.batch.id, TaskId("010"), refusal="no such executor")
    assert items(work)["010"] is ItemState.WAITING
    (found,) = look(work).standings
    assert found.state is ItemState.NEEDS_PERSON
    resume(work)
    turn(work)
    assert placed(work) == [FIRST]


def test_what_is_on_its_way_is_not_forgiven(desk: Desk) -> None:
    """What its author has been given back counts on, and a person is asked in the end."""
    desk.task("010")
    work = begin(desk, review=True)
    turn(work)
    desk.end(1, TaskStatus.NEEDS_REVIEW, JobState.DONE)
    before = batches.items_of(desk.database, work.batch.id)
    resume(work)
    assert batches.items_of(desk.database, work.batch.id) == before


def test_a_batch_that_its_brake_has_paused_goes_on(desk: Desk, work: Work) -> None:
    fail(desk, 1)
    turn(work)
    paused = {"state": BatchState.PAUSED, "reason": "jobs 1, 2, 3 failed for the same reason"}
    batches.change_batch(desk.database, work.batch.id, **paused)
    turn(work)
    resume(work)
    assert (batch(work).state, batch(work).reason) == (BatchState.RUNNING, "")
    turn(work)
    assert placed(work) == [FIRST, SECOND]


@pytest.mark.parametrize("state", [BatchState.OVER, BatchState.CANCELLED])
def test_a_batch_that_has_ended_says_so_and_names_what_can_be_done(
    desk: Desk, work: Work, state: BatchState
) -> None:
    fail(desk, 1)
    batches.change_batch(desk.database, work.batch.id, state=state, ended_at=1.0)
    with pytest.raises(BatchHasEnded) as caught:
        resume(work)
    assert caught.value.message == f"batch 1 is {state.value}"
    assert caught.value.exit_code == 4
    assert "`sow batch show 1`" in caught.value.hint
    turn(work)
    assert placed(work) == [FIRST], "nothing of it goes on"
