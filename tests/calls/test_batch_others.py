"""What an item waits for outside of its batch: that goes on while somebody is at work on it."""

import pytest
from calls.batch_desk import begin, items, look, turn
from calls.desk import PROJECT, Desk
from msgspec.structs import replace

from sow.batches.gathering import Seen
from sow.batches.other_tasks import Others
from sow.calls import batch_changes, batch_making
from sow.calls.batch_changes import selection_of
from sow.calls.batch_look import Work
from sow.calls.batch_making import Wanted
from sow.calls.batch_wait import look_at_batch
from sow.calls.caller import WaitsForItself
from sow.ids import TaskId
from sow.jobs import batches, jobs
from sow.schema.batch import ItemState
from sow.schema.batch_policy import BatchPolicy
from sow.schema.job import HeldFor, JobState
from sow.schema.task import TaskStatus


def rests(work: Work) -> bool:
    seen = Seen(work.caller.workspace)
    return look_at_batch(work.caller, work.database, work.config, work.batch.id, seen).rests


@pytest.fixture
def works(desk: Desk) -> tuple[Work, Work]:
    """A batch that is at work on 010, and one whose 020 waits for that."""
    desk.task("010")
    desk.task("020", depends_on=["010"])
    first = begin(desk, "010")
    turn(first)
    second = begin(desk, "020")
    turn(second)
    return first, second


def test_a_batch_waits_while_another_one_is_at_work_on_what_it_needs(
    desk: Desk, works: tuple[Work, Work]
) -> None:
    first, second = works
    assert items(second) == {"020": ItemState.WAITING}
    assert not rests(second)
    desk.end(1, TaskStatus.COMPLETED)
    turn(first)
    turn(second)
    assert [job.task_id for job in batches.jobs_of(desk.database, second.batch.id)] == ["020"]


def test_it_returns_when_that_one_wants_a_person_and_says_who_is_waited_for(
    desk: Desk, works: tuple[Work, Work]
) -> None:
    first, second = works
    desk.end(1, TaskStatus.PAUSED)
    turn(first)
    assert rests(second)
    (standing,) = look(second).standings
    assert standing.reason == "waits for 010; no agent is working on task 010 (paused)"
    assert standing.command == "sow task show 010"


def test_a_paused_batch_rests_and_so_does_one_that_waits_for_it(
    desk: Desk, works: tuple[Work, Work]
) -> None:
    first, second = works
    batch_changes.pause(desk.database, first.batch)
    assert rests(second), "its job waits, and nobody takes that"
    batch_changes.resume(desk.caller, desk.database, first.batch)
    assert not rests(second)
    batch_changes.pause(desk.database, second.batch)
    assert rests(second)


@pytest.mark.slow
def test_a_chain_of_waiting_tasks_may_be_longer_than_python_goes_deep(desk: Desk) -> None:
    like = desk.task("010")
    work = begin(desk, "010")
    chain = [TaskId(f"{number:04}") for number in range(2000)]
    tasks = {
        task: replace(like, id=task, depends_on=[before])
        for before, task in zip([TaskId("010"), *chain], chain, strict=False)
    }
    tasks[TaskId("010")] = like
    batches.add_items(desk.database, work.batch, chain)
    assert Others(desk.database, PROJECT, tasks.__getitem__).go_on(chain[-1])
    pausing = {"state": ItemState.NEEDS_PERSON}
    batches.change_item(desk.database, work.batch.id, TaskId("010"), **pausing)
    assert not Others(desk.database, PROJECT, tasks.__getitem__).go_on(chain[-1])


def test_a_single_call_that_waits_for_its_time_is_waited_for_and_one_that_waits_for_trust_is_not(
    desk: Desk,
) -> None:
    desk.task("010")
    desk.task("020", depends_on=["010"])
    job = desk.queue(task_id=TaskId("010"))
    work = begin(desk, "020")
    turn(work)
    assert not rests(work)
    held = {"state": JobState.HELD, "held_for": HeldFor.TRUST}
    jobs.change_job(desk.database, job.id, **held)
    assert rests(work)


def test_an_agent_waits_for_no_batch_that_waits_for_the_agent(desk: Desk) -> None:
    for task, needs in (("010", []), ("020", ["010"]), ("030", [])):
        desk.task(task, depends_on=needs)
    own = desk.run(task_id=TaskId("010"), agent="orchestrator")
    agent = desk.as_agent_of(own)
    wanted = Wanted(selection_of((), None), BatchPolicy())
    made = batch_making.make_or_attach(agent, desk.database, wanted)
    assert made is not None
    work = Work(agent, desk.database, desk.config, made.batch)
    assert set(items(work)) == {"020", "030"}, "without its own task"
    turn(work)
    assert not rests(work)
    desk.end(2, TaskStatus.COMPLETED)
    turn(work)
    assert rests(work), "what is left waits for the agent that asks"
    assert not rests(replace(work, caller=desk.caller)), "to others it goes on"
    with pytest.raises(WaitsForItself):
        batch_changes.add(agent, desk.database, made.batch, [TaskId("010")])
    named = Wanted(selection_of(("010",), None), BatchPolicy())
    with pytest.raises(WaitsForItself):
        batch_making.make_or_attach(agent, desk.database, named)
