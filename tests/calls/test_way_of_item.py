"""How a reader follows an item of a batch through the code: which modules, in which order."""

import pytest
from calls.batch_desk import begin, placed
from calls.desk import WORKER, Desk
from ways import followed

from sow.schema.task import TaskStatus
from worker.batch_driver import BatchDriver
from worker.context import WorkerContext

LAYERS = ("worker.", "sow.calls.", "sow.batches.")
"""Where it is decided what happens to an item; what lies below is read, not followed."""
MOST_MODULES = 17
MOST_TURNS = 0


@pytest.mark.parametrize(
    ("status", "action"), [(TaskStatus.PENDING, "spawn"), (TaskStatus.NEEDS_REVIEW, "review")]
)
def test_an_item_is_followed_in_order_from_the_worker_to_its_job(
    desk: Desk, status: TaskStatus, action: str
) -> None:
    desk.staff()
    desk.task("010", status)
    work = begin(desk, review=True)
    context = WorkerContext(desk.workspace, desk.database, WORKER, desk.config, desk.caller.environ)
    driver = BatchDriver(context)
    with followed(*LAYERS) as way:
        driver.drive()
    assert placed(work) == [("010", action, 1)]
    assert len(way.modules) <= MOST_MODULES, way.modules
    assert len(way.turns) <= MOST_TURNS, way.turns
