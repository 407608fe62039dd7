"""A batch at a caller's desk, as the worker that drives it has it."""

from typing import Any

from calls.desk import Desk

from sow.batches.gathering import Seen
from sow.batches.planning import Plan
from sow.calls import batch_making, batch_turn
from sow.calls.batch_changes import selection_of
from sow.calls.batch_look import Work
from sow.calls.batch_making import Wanted
from sow.jobs import batches
from sow.schema.batch import Batch, ItemState
from sow.schema.batch_policy import BatchPolicy


def begin(desk: Desk, *tasks: str, **policy: Any) -> Work:
    """Make a batch of some tasks, or of all, as the worker that drives it has it."""
    wanted = Wanted(selection_of(tasks, None), BatchPolicy(**policy))
    made = batch_making.make_or_attach(desk.caller, desk.database, wanted)
    assert made is not None
    return Work(desk.caller, desk.database, desk.config, made.batch)


def turn(work: Work) -> None:
    batch_turn.take_turn(work, Seen(work.caller.workspace))


def look(work: Work) -> Plan:
    return batch_turn.look(work, Seen(work.caller.workspace))


def items(work: Work) -> dict[str, ItemState]:
    return {i.task_id: i.state for i in batches.items_of(work.database, work.batch.id)}


def placed(work: Work) -> list[tuple[str, str | None, int | None]]:
    found = batches.jobs_of(work.database, work.batch.id)
    return [(job.task_id, job.action, job.step) for job in found]


def batch(work: Work) -> Batch:
    return batches.get_batch(work.database, work.batch.id)
