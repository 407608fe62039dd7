"""A batch that has ended: how it ended stays, and each command that is named works still."""

import pytest
from calls.batch_desk import batch, begin, items, look, turn
from calls.desk import WORKER, Desk

from sow.batches.gathering import Seen
from sow.batches.views import detail_of
from sow.calls import batch_turn
from sow.calls.batch_cancel import cancel_batch
from sow.calls.batch_look import Work
from sow.calls.ending import end_project
from sow.calls.kinds import place
from sow.ids import JobId, TaskId
from sow.jobs import batch_summaries, batches, jobs
from sow.schema.amounts import Amounts, ReachedLimit, ScopeKind
from sow.schema.batch import BatchState, ItemState
from sow.schema.causes import Cause
from sow.schema.job import JobState
from sow.schema.output.batches import BatchDetail
from sow.schema.project import EndingWord
from sow.schema.task import TaskStatus
from sow.state.authors import Author
from worker.batch_driver import BatchDriver
from worker.context import WorkerContext

REACHED = "the budget of batch 1 is reached\nRaise it: `sow batch resume 1 --budget usd=4`."


def shown(work: Work) -> BatchDetail:
    workspace = work.caller.workspace
    now, plan = batch(work), look(work)
    at = work.caller.now()
    return detail_of(workspace, work.database, now, plan, Seen(workspace), rests=True, now=at)


def test_how_a_batch_ended_stays_whatever_becomes_of_its_tasks(desk: Desk) -> None:
    desk.task("010")
    work = begin(desk)
    turn(work)
    desk.end(1, TaskStatus.COMPLETED)
    turn(work)
    assert batch(work).state is BatchState.OVER
    desk.change("010", status=TaskStatus.NEEDS_REVIEW)
    detail = shown(work)
    assert ([item.state for item in detail.items], detail.exit_code) == (["done"], 0)


def test_a_failure_names_its_call_until_somebody_is_at_work_on_it(desk: Desk) -> None:
    desk.task("010")
    work = begin(desk)
    turn(work)
    desk.end(1, TaskStatus.FAILED, JobState.FAILED)
    turn(work)
    (item,) = shown(work).items
    assert (item.state, item.command) == ("failed", "sow agent spawn 010")
    place(desk.caller, desk.database, desk.config, desk.spawn("010", fresh=True))
    (item,) = shown(work).items
    assert (item.state, item.command) == ("failed", "")


def test_a_verdict_is_asked_for_until_somebody_reviews_it(desk: Desk) -> None:
    desk.task("010", TaskStatus.NEEDS_REVIEW)
    work = begin(desk)
    turn(work)
    cancel_batch(desk.caller, desk.database, batch(work))
    (item,) = shown(work).items
    assert item.command.startswith("sow review accept 010")
    desk.insert(task_id="010")
    (item,) = shown(work).items
    assert item.command == ""


def test_a_cancelled_batch_tells_of_its_items_and_names_no_resume(desk: Desk) -> None:
    desk.task("010")
    desk.task("020")
    work = begin(desk, max_parallel=1)
    turn(work)
    assert len(desk.database.rows("select 1 from job")) == 1
    cancel_batch(desk.caller, desk.database, batch(work))
    assert items(work)["020"] is ItemState.WAITING
    assert ItemState.RUNNING not in items(work).values()
    assert [item.command for item in shown(work).items if "batch" in item.command] == []


def test_whoever_cancels_and_dies_is_followed_by_a_worker_that_says_how_the_items_ended(
    desk: Desk,
) -> None:
    desk.task("010")
    desk.task("020", TaskStatus.NEEDS_REVIEW)
    work = begin(desk, review=True)
    turn(work)
    desk.change("020", status=TaskStatus.NEEDS_REVIEW)
    assert items(work) == {"010": ItemState.WAITING, "020": ItemState.IN_REVIEW}
    batch_turn.end(work, BatchState.CANCELLED)
    desk.end(2, TaskStatus.PENDING, JobState.CANCELLED)
    assert unsettled(work) == [], "the review lives"
    jobs.change_job(desk.database, JobId(1), cancel_requested_at=1.0)
    desk.end(1, TaskStatus.NEEDS_REVIEW, JobState.CANCELLED)
    assert unsettled(work) == [work.batch.id]
    context = WorkerContext(desk.workspace, desk.database, WORKER, desk.config, desk.caller.environ)
    BatchDriver(context).drive()
    assert (unsettled(work), items(work)["020"]) == ([], ItemState.NEEDS_PERSON)


def unsettled(work: Work) -> list[int]:
    return [found.id for found in batch_summaries.unsettled(work.database, work.batch.project_id)]


def test_what_nobody_goes_on_with_is_no_work_of_an_ended_batch(desk: Desk) -> None:
    desk.task("010")
    work = begin(desk, review=True)
    turn(work)
    desk.end(1, TaskStatus.NEEDS_REVIEW)
    batches.change_item(work.database, work.batch.id, TaskId("010"), state=ItemState.RUNNING)
    (wanted,) = look(work).standings
    assert wanted.action == "review"
    cancel_batch(desk.caller, desk.database, batch(work))
    assert items(work) == {"010": ItemState.WAITING}
    desk.change("010", status=TaskStatus.COMPLETED)
    cancel_batch(desk.caller, desk.database, batch(work))
    assert items(work) == {"010": ItemState.WAITING}, "another batch has done it"


def test_a_project_s_end_leaves_no_item_at_work(desk: Desk) -> None:
    desk.task("010")
    work = begin(desk)
    turn(work)
    batches.change_item(work.database, work.batch.id, TaskId("010"), state=ItemState.RUNNING)
    desk.end(1, TaskStatus.COMPLETED)
    end_project(desk.caller, EndingWord.ABANDONED, remove=False, by=Author("person"))
    assert items(work) == {"010": ItemState.WAITING}


@pytest.mark.parametrize("has_ended", [False, True])
def test_a_reached_budget_of_a_batch_is_raised_only_while_that_goes_on(
    desk: Desk, has_ended: bool
) -> None:
    desk.task("010")
    work = begin(desk)
    turn(work)
    desk.end(1, TaskStatus.FAILED, JobState.FAILED)
    reached = ReachedLimit(kind=ScopeKind.BATCH, name="1", enough=Amounts(usd=4.0))
    ends = {"cause": Cause.BUDGET_REACHED, "reason": REACHED, "reached": reached}
    jobs.change_job(desk.database, desk.job(1).id, **ends)
    turn(work)
    if has_ended:
        batch_turn.end(work, BatchState.CANCELLED)
    (item,) = shown(work).items
    assert item.state == "needs_person"
    assert ("sow batch resume" in item.command + item.reason) is not has_ended
