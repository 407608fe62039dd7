"""What a server holds for its client, where the queue is locked meanwhile."""

from contextlib import closing
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from journeys.callers import await_end, claimants_of, good, queue, queue_lock
from journeys.site import Site, make_site, wait_until
from mcp_server.place import run

from sow.clock import utc_now
from sow.ids import JobId
from sow.jobs import waiters
from sow.mcp_server.escrow import Escrows

pytestmark = pytest.mark.slow


def test_an_outcome_that_a_locked_queue_does_not_let_owe_is_owed_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sow.jobs.database.BUSY_SECONDS", 0.05)
    site = make_site(tmp_path)
    try:
        run(lambda: cancelled_under_a_lock(site))
    finally:
        site.close()


async def cancelled_under_a_lock(site: Site) -> None:
    """Tell an outcome, and cancel that while somebody has locked the queue."""
    site.project("010")
    site.script([good()])
    site.sow("agent", "spawn", "implementer", "010")
    await_end(site, "010")
    async with anyio.create_task_group() as group:
        escrows = Escrows(site.environment(), site.root, group)
        async with escrows.for_call(1, waits=True) as holding:
            assert holding.id is not None
            with closing(queue(site)) as database:
                waiters.put_into(database, holding.id, JobId(1), now=utc_now())
        escrows.written(1)
        await until_claimed(site, count=0)
        with queue_lock(site):
            escrows.gone(1)
            await anyio.lowlevel.checkpoint()
            await holding.give_up()  # after the first try
        await until_claimed(site, count=1)
        assert claimants_of(site, 1) == [holding.id]


async def until_claimed(site: Site, *, count: int) -> None:
    def is_so() -> bool:
        return len(claimants_of(site, 1)) == count

    await anyio.to_thread.run_sync(wait_until, is_so, f"{count} are owed the outcome")
