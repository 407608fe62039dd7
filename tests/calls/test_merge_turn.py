"""The turn to merge is given back whatever becomes of the item that has it, and nobody starves."""

from typing import Any

import pytest
from calls.batch_desk import batch, begin, look, placed, turn
from calls.desk import PROJECT, WORKER, Desk
from msgspec import structs

from sow.batches.gathering import Seen
from sow.calls import batch_changes, batch_turn
from sow.calls.batch_look import Work
from sow.git.git_errors import GitKilled
from sow.ids import BatchId, TaskId
from sow.jobs import batch_news, batches, workers
from sow.schema.batch import Batch, BatchState
from sow.schema.task import TaskStatus
from worker.batch_driver import BatchDriver
from worker.context import WorkerContext

TASKS = ("010", "020")


@pytest.fixture
def two(desk: Desk) -> tuple[Work, Work]:
    """Two batches at rest, whose workers have seen all that has happened."""
    for task in TASKS:
        desk.task(task, TaskStatus.PAUSED)
    first, second = (begin(desk, task) for task in TASKS)
    for _ in range(2):
        turn(first)
        turn(second)
    assert batch_news.pending(desk.database) == []
    return first, second


def pending(desk: Desk) -> list[BatchId]:
    return [found.id for found in batch_news.pending(desk.database, PROJECT)]


def takes(desk: Desk, batch: Batch, task: str) -> bool:
    return batches.take_turn(desk.database, batch, TaskId(task))


def driver(desk: Desk) -> BatchDriver:
    context = WorkerContext(desk.workspace, desk.database, WORKER, desk.config, desk.caller.environ)
    return BatchDriver(context)


def test_a_batch_that_has_ended_leaves_the_turn_to_another(
    desk: Desk, two: tuple[Work, Work]
) -> None:
    first, second = two
    assert takes(desk, second.batch, "020")
    fields = {"state": BatchState.CANCELLED, "ended_at": desk.caller.now()}
    batches.change_batch(desk.database, second.batch.id, **fields)
    assert takes(desk, first.batch, "010")


def test_a_task_that_is_taken_out_leaves_the_turn_to_another_batch(
    desk: Desk, two: tuple[Work, Work]
) -> None:
    first, second = two
    assert takes(desk, second.batch, "020")
    assert not takes(desk, first.batch, "010")
    batch_changes.remove(desk.caller, desk.database, second.batch, [TaskId("020")])
    assert first.batch.id in pending(desk)
    assert takes(desk, first.batch, "010")


@pytest.mark.parametrize(
    "changes",
    [
        {"state": BatchState.CANCELLED, "ended_at": 1.0},
        {"state": BatchState.OVER, "ended_at": 1.0},
        {"state": BatchState.PAUSED},
    ],
    ids=["cancelled", "over", "paused"],
)
def test_who_has_looked_before_the_end_takes_no_turn_after_it(
    desk: Desk, two: tuple[Work, Work], changes: dict[str, Any]
) -> None:
    """A worker that is killed then could leave a turn behind that nobody gives back."""
    first, second = two
    batches.change_batch(desk.database, second.batch.id, **changes)
    assert not takes(desk, second.batch, "020")
    assert takes(desk, first.batch, "010")


def test_a_task_that_was_taken_out_since_the_look_takes_no_turn(
    desk: Desk, two: tuple[Work, Work]
) -> None:
    first, second = two
    batch_changes.remove(desk.caller, desk.database, second.batch, [TaskId("020")])
    assert not takes(desk, second.batch, "020")
    assert takes(desk, first.batch, "010")


def test_one_worker_alone_looks_again_at_who_waits_for_a_turn_that_is_given_back(
    desk: Desk, two: tuple[Work, Work]
) -> None:
    """The batch that waits has had its turn when the other one, which is paused, gives it back."""
    first, second = two
    assert takes(desk, second.batch, "020")
    batch_changes.pause(desk.database, second.batch)
    mine = driver(desk)
    mine.drive()
    assert batches.turn_of(desk.database, PROJECT) is None
    mine.drive()
    assert pending(desk) == []
    assert batch(first).seen > 0


def test_what_a_killed_worker_has_taken_is_given_back_by_the_next_one(
    desk: Desk, two: tuple[Work, Work]
) -> None:
    first, second = two
    assert takes(desk, second.batch, "020")
    batch_news.reopen(desk.database, second.batch.id)
    driver(desk).drive()
    assert batches.turn_of(desk.database, PROJECT) is None, "it is not on its way"
    assert takes(desk, first.batch, "010")


def test_a_bug_in_one_batch_is_a_word_to_a_person_and_the_others_go_on(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.task("010")
    desk.task("020")
    first, second = begin(desk, "010"), begin(desk, "020")

    take = batch_turn.take_turn

    def fails(work: Work, seen: Seen) -> None:
        if work.batch.id == first.batch.id:
            raise NameError("no such name")
        take(work, seen)

    monkeypatch.setattr("sow.calls.batch_turn.take_turn", fails)
    driver(desk).drive()
    found = batch(first)
    assert (found.state, found.reason.partition("\n")[0]) == (
        BatchState.PAUSED,
        "sow itself failed: no such name",
    )
    assert "`sow worker logs`" in found.reason
    assert [job.task_id for job in batches.jobs_of(desk.database, second.batch.id)] == ["020"]


def test_what_keeps_a_worker_from_one_batch_for_now_keeps_it_from_no_other(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    desk.task("010")
    desk.task("020")
    first, second = begin(desk, "010"), begin(desk, "020")
    prevented = [GitKilled(desk.base, ["log"], 9)]

    take = batch_turn.take_turn

    def take_turn(work: Work, seen: Seen) -> None:
        if work.batch.id == first.batch.id and prevented:
            raise prevented[0]
        take(work, seen)

    monkeypatch.setattr("sow.calls.batch_turn.take_turn", take_turn)
    mine = driver(desk)
    mine.drive()
    assert f"cannot advance batch {first.batch.id} yet" in caplog.text
    assert (placed(first), len(placed(second))) == ([], 1)
    assert batch(first).state is BatchState.RUNNING
    prevented.clear()
    mine.drive()
    assert len(placed(first)) == 1


def test_a_batch_whose_record_is_damaged_hides_no_other(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.task("010")
    desk.task("020")
    first, second = begin(desk, "010"), begin(desk, "020")
    desk.database.run("update batch set policy = '{' where id = ?", (first.batch.id,))
    mine = driver(desk)
    for _ in range(2):
        mine.drive()
    assert len(placed(second)) == 1
    assert caplog.text.count("is damaged") == 1
    desk.end(1)
    mine.drive()
    assert not workers.has_work(desk.database, PROJECT), "a worker may leave"


def test_who_is_on_the_way_keeps_the_turn(
    desk: Desk, two: tuple[Work, Work], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = two
    assert takes(desk, first.batch, "010")
    plan = look(first)
    for found, holder in ((plan, None), (structs.replace(plan, turn="010"), "010")):
        assert takes(desk, first.batch, "010")
        monkeypatch.setattr(batch_turn, "look", lambda *_, found=found: found)
        turn(first)
        turned = batches.turn_of(desk.database, PROJECT)
        assert (turned[1] if turned is not None else None) == holder
