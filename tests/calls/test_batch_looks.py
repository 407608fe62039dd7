"""What happens while a worker looks at a batch: nothing half true is told, and nothing is lost."""

from collections.abc import Callable
from typing import Any

import pytest
from calls.batch_desk import batch, begin, items, placed, turn
from calls.desk import Desk

from sow.calls import batch_call, batch_deeds
from sow.calls.placement import place
from sow.ids import TaskId
from sow.jobs import batches, changes
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
    told = [c.data.status for c in changes.read_after(desk.database, upto) if c.kind == "item"]
    assert ItemState.NEEDS_PERSON not in told


def test_a_task_that_is_added_during_the_last_look_is_begun(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.task("010", TaskStatus.COMPLETED)
    desk.task("020")
    work = begin(desk, "010")
    between_its_halves(
        monkeypatch,
        lambda: batch_call.add(desk.caller, desk.database, work.batch, [TaskId("020")]),
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
        batch_deeds.do(*given)

    monkeypatch.setattr("sow.calls.batch_turn.do", too_late)
    turn(work)
    (item,) = batches.items_of(desk.database, work.batch.id)
    assert (item.state, item.refusal) == (ItemState.FAILED, "")
    assert batch(work).state is BatchState.OVER
