"""A batch's budget: what it has stopped goes on with another figure, whoever gives it, and once."""

import pytest
from calls.batch_desk import begin, items, look, placed, turn
from calls.desk import Desk

from sow.calls import batch_call
from sow.calls.batch_call import Wanted, selection_of
from sow.calls.batch_deeds import Work
from sow.ids import JobId, TaskId
from sow.jobs import batches, jobs
from sow.schema.batch import BatchPolicy, ItemState
from sow.schema.budget import Amounts, Budgets
from sow.schema.causes import Cause
from sow.schema.job import JobState, Verb
from sow.schema.task import TaskStatus

OLD, NEW = Amounts(time=60.0), Amounts(time=3600.0)
REACHED = (
    "the budget of batch 1 is reached: 1m of 1m\nRaise it: `sow batch resume 1 --budget time=2m`."
)


def refuse(desk: Desk, job_id: int = 1, status: TaskStatus = TaskStatus.FAILED) -> None:
    """End a job as its worker does that has found the old budget reached."""
    desk.end(job_id, status, JobState.FAILED)
    ends = {"cause": Cause.BUDGET_REACHED, "reason": REACHED, "budgets": Budgets(batch=OLD)}
    jobs.change_job(desk.database, JobId(job_id), **ends)


def pay(work: Work) -> None:
    """Make the call of the batch again, with another figure."""
    policy = BatchPolicy(budget=NEW)
    wanted = Wanted(selection_of((), None), policy, has_budget=True)
    made = batch_call.make_or_attach(work.caller, work.database, wanted)
    assert made is not None
    assert made.attached


@pytest.fixture
def work(desk: Desk) -> Work:
    desk.task("010")
    made = begin(desk, budget=OLD)
    turn(made)
    return made


def test_the_same_call_with_another_figure_puts_back_to_work_what_was_stopped(
    desk: Desk, work: Work
) -> None:
    refuse(desk)
    turn(work)
    assert items(work) == {"010": ItemState.NEEDS_PERSON}
    assert batches.unheeded(desk.database) == []
    pay(work)
    assert len(batches.unheeded(desk.database)) == 1
    turn(work)
    assert placed(work) == [("010", "spawn", 1), ("010", "spawn", 2)]
    refuse(desk, 2)
    jobs.change_job(desk.database, JobId(2), budgets=Budgets(batch=NEW))
    turn(work)
    assert items(work) == {"010": ItemState.NEEDS_PERSON}, "the new one is reached, too"


def test_a_figure_that_is_given_while_the_old_one_stops_a_job_is_not_lost(
    desk: Desk, work: Work
) -> None:
    """Its worker has looked at the old figure, and has not written the end yet."""
    batch_call.give_budget(desk.database, work.batch, NEW, unmetered=False)
    batch_call.resume(desk.caller, desk.database, work.batch)
    refuse(desk)
    turn(work)
    assert placed(work) == [("010", "spawn", 1), ("010", "spawn", 2)]


def test_a_review_that_a_budget_has_stopped_names_the_command_that_raises_it(
    desk: Desk,
) -> None:
    desk.task("010", TaskStatus.NEEDS_REVIEW)
    work = begin(desk, review=True, budget=OLD)
    asked = {"batch": work.batch.id, "batch_step": 1, "batch_deed": "review"}
    job = desk.insert(verb=Verb.REVIEW, agent="reviewer", **asked)
    refuse(desk, job.id, TaskStatus.NEEDS_REVIEW)
    (found,) = look(work).standings
    assert found.state is ItemState.NEEDS_PERSON
    assert found.command == "sow batch resume 1 --budget time=2m"
    batch_call.give_budget(desk.database, work.batch, NEW, unmetered=False)
    (found,) = look(work).standings
    assert (found.state, found.deed) == (ItemState.IN_REVIEW, "review")


def test_what_was_refused_for_want_of_a_budget_is_tried_with_another_figure(
    desk: Desk, work: Work
) -> None:
    desk.end(1, TaskStatus.PENDING, JobState.CANCELLED)
    batches.change_item(desk.database, work.batch.id, TaskId("010"), refusal=REACHED)
    (found,) = look(work).standings
    assert found.command == "sow batch resume 1 --budget time=2m"
    pay(work)
    (found,) = look(work).standings
    assert found.deed == "spawn"
