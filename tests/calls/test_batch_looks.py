"""What happens while a worker looks at a batch: nothing half true is told, and nothing is lost."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from calls.batch_desk import batch, begin, items, look, placed, turn
from calls.desk import Desk
from recorded_changes import read_after
from reports.job_cases import NOW

from sow.batches.gathering import Seen
from sow.calls import batch_actions, batch_changes, batch_turn
from sow.calls.batch_actions import Step
from sow.calls.batch_cancel import cancel_batch
from sow.calls.batch_changes import BatchHasEnded
from sow.calls.batch_look import Work
from sow.calls.batch_wait import BatchLook, look_surely, wait_for_batch
from sow.calls.kinds import place
from sow.errors import StateError
from sow.files import StateLocked
from sow.ids import JobId, TaskId
from sow.jobs import batches, changes, jobs
from sow.schema.batch import BatchState, ItemState
from sow.schema.job import JobState
from sow.schema.task import TaskStatus


def between_its_halves(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Have something happen in the next look at a batch, when its jobs are read and no task yet."""
    left = [happens]

    def jobs_of(*given: Any) -> Any:
        found = read(*given)
        while left:
            left.pop()()
        return found

    read = batches.jobs_of
    monkeypatch.setattr(batches, "jobs_of", jobs_of)


def test_a_call_that_is_placed_during_a_look_calls_nobody(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.task("010")
    desk.task("020", TaskStatus.PAUSED)
    work = begin(desk)
    turn(work)
    desk.end(1, TaskStatus.FAILED, JobState.FAILED)
    turn(work)
    assert items(work)["010"] is ItemState.FAILED
    upto = changes.newest(desk.database).seq
    again = desk.spawn("010", fresh=True)
    between_its_halves(monkeypatch, lambda: place(desk.caller, desk.database, desk.config, again))
    turn(work)
    assert items(work)["010"] is ItemState.WAITING
    statuses = [c.data.status for c in read_after(desk.database, upto) if c.kind == "item"]
    assert ItemState.NEEDS_PERSON not in statuses


def test_a_task_that_is_added_during_the_last_look_is_begun(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.task("010", TaskStatus.COMPLETED)
    desk.task("020")
    work = begin(desk, "010")
    between_its_halves(
        monkeypatch,
        lambda: batch_changes.add(desk.caller, desk.database, work.batch, [TaskId("020")]),
    )
    turn(work)
    assert batch(work).state is BatchState.RUNNING
    assert placed(work) == [("020", "spawn", 1)]


def test_a_refusal_of_what_nobody_wants_any_more_calls_nobody(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.task("010")
    work = begin(desk)

    def too_late(*given: Any) -> None:
        desk.change("010", status=TaskStatus.ABANDONED)
        batch_actions.do(*given)

    monkeypatch.setattr("sow.calls.batch_turn.do", too_late)
    turn(work)
    (item,) = batches.items_of(desk.database, work.batch.id)
    assert (item.state, item.refusal) == (ItemState.FAILED, "")
    assert batch(work).state is BatchState.OVER


def test_one_look_serves_all_that_is_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an agent's program that is not installed, each task is refused until the brake holds."""
    tasks = ["010", "020", "030"]
    for task in tasks:
        desk.task(task)
    (desk.base / "bin/claude").unlink()
    work = begin(desk)
    looks: list[object] = []

    def looked(*given: Any) -> Any:
        looks.append(given)
        return look(*given)

    look = batch_turn.look
    monkeypatch.setattr(batch_turn, "look", looked)
    turn(work)
    assert items(work) == dict.fromkeys(tasks, ItemState.NEEDS_PERSON)
    assert len(looks) == 3, "what follows, what of it is wanted still, and how it stands then"


def test_a_deed_that_something_prevents_for_now_keeps_no_other_from_being_done(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent holds the lock of a task's folder, say; nobody knows for how long."""
    for task in ("010", "020", "030"):
        desk.task(task)
    work = begin(desk)

    def do(work: Work, step: Step) -> None:
        if step.task == "010":
            raise StateLocked(desk.base, 10.0)
        if step.task == "020":
            raise StateError("it is refused")
        batch_actions.do(work, step)

    monkeypatch.setattr("sow.calls.batch_turn.do", do)
    with pytest.raises(StateLocked):
        turn(work)
    assert placed(work) == [("030", "spawn", 1)]
    refusals = {item.task_id: item.refusal for item in batches.items_of(desk.database, 1)}
    assert refusals == {"010": "", "020": "it is refused", "030": ""}
    monkeypatch.undo()
    turn(work)
    assert items(work)["020"] is ItemState.NEEDS_PERSON
    assert [task for task, *_ in placed(work)] == ["030", "010"]


def test_a_batch_that_waits_for_another_one_s_task_rests_only_where_nothing_goes_on(
    desk: Desk,
) -> None:
    """Its caller would be told that it has come to nothing, while others are at it."""
    desk.task("010")
    desk.task("020", depends_on=["010"])
    first, second = begin(desk, "010"), begin(desk, "020")
    turn(first)
    turn(second)
    assert items(second) == {"020": ItemState.WAITING}
    assert not look(second).rests
    desk.end(1, TaskStatus.PAUSED)
    assert not look(second).rests, "nobody has looked yet at what that means"
    turn(first)
    turn(second)
    assert items(first) == {"010": ItemState.NEEDS_PERSON}
    assert look(second).rests, "a person has to say something first"
    batch_changes.pause(desk.database, first.batch)
    desk.change("010", status=TaskStatus.COMPLETED)
    turn(second)
    assert placed(second) == [("020", "spawn", 1)]


def test_a_call_that_waits_for_a_batch_goes_on_waiting_for_what_that_depends_on(
    desk: Desk,
) -> None:
    desk.task("010")
    desk.task("020", depends_on=["010"])
    desk.staff()
    job = desk.run(task_id="010")
    work = begin(desk, "020")
    turn(work)
    waits = partial(wait_for_batch, desk.caller, desk.database, desk.config, work.batch.id)
    assert not waits(seconds=0.0).rests
    ticks: list[BatchLook] = []

    def tick(found: BatchLook) -> None:
        ticks.append(found)
        desk.end(job.id, TaskStatus.FAILED, JobState.FAILED)
        turn(work)

    found = waits(seconds=60.0, on_tick=tick)
    assert (found.rests, len(ticks)) == (True, 1)
    assert batch(work).state is BatchState.OVER, "what depends on a failure is blocked"


def test_a_job_that_is_placed_during_a_look_calls_nobody_in_a_call_that_waits_no_longer(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupted task goes on in another batch; without its job it seems to ask something."""
    desk.task()
    desk.staff()
    first = begin(desk)
    turn(first)
    desk.change(status=TaskStatus.PAUSED)
    desk.end(1, TaskStatus.PAUSED, JobState.CANCELLED)
    jobs.change_job(desk.database, JobId(1), started_at=NOW, cancel_requested_at=NOW)
    batches.change_batch(desk.database, first.batch.id, state=BatchState.CANCELLED, ended_at=NOW)
    again = begin(desk).batch.id
    seen = Seen(desk.workspace)
    for look_now in (
        partial(wait_for_batch, seconds=0.0),
        partial(look_surely, seen=seen),
    ):
        between_its_halves(monkeypatch, lambda: desk.insert(state=JobState.PREPARING, batch=again))
        found = look_now(desk.caller, desk.database, desk.config, again)
        assert found.plan is not None
        assert [item.state for item in found.plan.standings] == [ItemState.WAITING]
        assert not found.rests
        newest = jobs.newest_id(desk.database)
        jobs.change_job(desk.database, newest, state=JobState.CANCELLED, started_at=NOW)
        jobs.change_job(desk.database, newest, cancel_requested_at=NOW)


def test_a_cancel_that_comes_too_late_leaves_a_batch_as_it_ended(desk: Desk) -> None:
    desk.task("010", TaskStatus.COMPLETED)
    work = begin(desk, "010")
    found = batch(work)
    turn(work)
    assert batch(work).state is BatchState.OVER
    with pytest.raises(BatchHasEnded):
        cancel_batch(desk.caller, desk.database, found)
    assert batch(work).state is BatchState.OVER
