"""Waiting until a batch has come to rest: a bell, the records, and nothing in between.

Owns when a batch returns to its caller: when nothing of it goes on by itself.
"""

import os
import time
from collections.abc import Callable

from msgspec import Struct

from sow.batches.gathering import Seen
from sow.batches.planning import Plan
from sow.calls.batch_look import Work, look
from sow.calls.caller import Caller
from sow.config.configuration import Configuration
from sow.ids import BatchId
from sow.jobs import batches, changes, workers
from sow.jobs.database import Database
from sow.schema.batch import Batch
from sow.state.kept.store import project_id_at

FALLBACK_SECONDS = 2.0
MOST_LOOKS = 5
"""How often a look is made anew at most: in a busy queue something happens during each."""


class BatchLook(Struct, frozen=True):
    """How a batch stands at one look."""

    batch: Batch
    plan: Plan | None
    """None while another project is checked out."""
    seen: Seen
    """What it has read of tasks."""
    config: Configuration

    @property
    def is_elsewhere(self) -> bool:
        """Whether it waits for its project to be checked out."""
        return self.plan is None and not self.batch.state.has_ended

    @property
    def rests(self) -> bool:
        """Whether nothing of it goes on by itself."""
        if self.batch.state.has_ended:
            return True
        plan = self.plan
        return plan is not None and plan.rests and not plan.is_over and not plan.pause


def look_at_batch(
    caller: Caller, database: Database, config: Configuration, batch_id: BatchId, seen: Seen
) -> BatchLook:
    """Return how a batch stands now, by one look (`look_surely`). Changes nothing."""
    batch = batches.get_batch(database, batch_id)
    if project_id_at(caller.workspace.root) != batch.project_id:
        return BatchLook(batch, None, seen, config)
    return BatchLook(batch, look(Work(caller, database, config, batch), seen), seen, config)


def look_surely(
    caller: Caller, database: Database, config: Configuration, batch_id: BatchId, seen: Seen
) -> BatchLook:
    """Return how a batch stands now, by a look during which nothing has happened.

    What has changed meanwhile may be in one half of a look, and not in the other: a job may be
    missing that has just been placed, and a person be called for its task.
    """
    for _ in range(MOST_LOOKS):
        upto = changes.newest(database).seq
        found = look_at_batch(caller, database, config, batch_id, seen)
        if changes.newest(database).seq == upto:
            break
    return found


def wait_for_batch(
    caller: Caller,
    database: Database,
    config: Configuration,
    batch_id: BatchId,
    *,
    seconds: float | None,
    on_tick: Callable[[BatchLook], None] = lambda _: None,
) -> BatchLook:
    """Wait until a batch rests, at most `seconds`; return how it stands then.

    `on_tick` is called before each sleep. Raises NoWorker, QueueError.
    """
    # Whoever only looks at a batch starts no worker.
    from sow.calls.autostart import Staffing
    from sow.jobs import doorbell
    from sow.jobs.doorbell import Bell

    begun, staffing = time.monotonic(), Staffing(caller, config, database, drives=True)
    seen, looked_up_to = Seen(caller.workspace), -1
    name = f"c{os.getpid()}-{os.urandom(4).hex()}"
    ear = database.listen(lambda ring: ring.batch == batch_id)
    bell = Bell(doorbell.batch_bell_path(caller.workspace, batch_id, name), ear)
    found: BatchLook | None = None
    is_told = False
    try:
        while True:
            upto = changes.newest(database).seq
            if found is None or upto != looked_up_to or found.is_elsewhere:
                found = look_at_batch(caller, database, config, batch_id, seen)
                looked_up_to = upto
            waited = time.monotonic() - begun
            is_up = seconds is not None and waited >= seconds
            is_sure = changes.newest(database).seq == upto
            if is_sure and not is_told:
                is_told = True
                tell_of_files(caller, database, found)
            if found.rests and is_sure:
                return found
            if is_up:
                return found if is_sure else look_surely(caller, database, config, batch_id, seen)
            if found.rests:
                continue
            staffing.look_after()
            if is_sure:
                on_tick(found)
            rest = FALLBACK_SECONDS if seconds is None else seconds - waited
            bell.wait(min(FALLBACK_SECONDS, rest))
    finally:
        bell.close()


def tell_of_files(caller: Caller, database: Database, found: BatchLook) -> None:
    """Have the workers look anew where something is to be done of which no change tells.

    So it is where a limit has been raised in a file.
    """
    if found.plan is None or not found.plan.actions:
        return
    from sow.jobs import batch_news  # who only looks at a batch tells nobody

    heeded = all(batch.id != found.batch.id for batch in batch_news.pending(database))
    if heeded:
        batch_news.reopen(database, found.batch.id)
        workers.wake(caller.workspace)
