"""One look at a batch: where it stands, and what follows. Changes nothing.

What carrying out an action needs is not imported: commands that only show a batch take this look.
"""

from functools import partial

from msgspec import Struct

from sow.batches.gathering import Seen, gather
from sow.batches.planning import Plan, next_actions
from sow.calls.caller import Caller
from sow.config.configuration import Configuration
from sow.errors import SowError
from sow.executors.registry import can_resume
from sow.faults import passing_fault
from sow.jobs import batches
from sow.jobs.batches import JobInBatch
from sow.jobs.database import Database
from sow.jobs.faults import QueueChanged
from sow.schema.amounts import ReachedLimit
from sow.schema.batch import Batch
from sow.schema.batch_policy import BatchPolicy
from sow.schema.causes import RAISABLE

MOST_TRIES = 5


class Work(Struct, frozen=True):
    """Where and for whom an action is done."""

    caller: Caller
    database: Database
    config: Configuration
    batch: Batch


class LimitsNow(Struct, frozen=True):
    """The limits that stop items of a batch, as their features know them."""

    work: Work

    def has_room(self, reached: ReachedLimit) -> bool:
        """Whether a limit that stands in a file has something left by now."""
        # Few batches have an item that a limit has stopped.
        from sow.calls.features import call_features

        work, now = self.work, self.work.caller.now()
        return any(
            feature.has_room(reached, work.database, work.batch.project_id, work.config, now=now)
            for feature in call_features()
        )

    def is_raised(self, job: JobInBatch, policy: BatchPolicy) -> bool:
        """Whether the batch's limit that has ended a job has another figure by now."""
        if job.cause not in RAISABLE:
            return False
        # As above.
        from sow.calls.features import call_features

        database = self.work.database
        return any(feature.is_raised(database, job, policy) for feature in call_features())


def look(work: Work, seen: Seen) -> Plan:
    """Return where a batch stands and what follows.

    A look that something prevents which passes (a git was killed, say) is made again.
    """
    for number in range(1, MOST_TRIES + 1):
        try:
            return _look(work, seen)
        except SowError as error:
            if isinstance(error, QueueChanged) or number == MOST_TRIES:
                raise
            if passing_fault(error) is None:
                raise
    raise AssertionError("unreachable")


def _look(work: Work, seen: Seen) -> Plan:
    batch = batches.get_batch(work.database, work.batch.id)
    resumes = partial(can_resume, work.config)
    asking = work.caller.tasks_above(work.database, batch.project_id)
    items, facts = gather(
        work.caller.workspace,
        work.database,
        batch,
        seen,
        LimitsNow(work),
        asking,
        resumes,
    )
    return next_actions(items, batch.policy, facts)
