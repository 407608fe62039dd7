"""Cancelling a batch: nothing more of it is begun, and its jobs are ended.

The batch ends first: whoever is killed after that leaves one that begins nothing,
and the same cancel goes on with the jobs that still live.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

from sow.batches.gathering import Seen
from sow.calls.autostart import Staffing
from sow.calls.batch_changes import BatchHasEnded
from sow.calls.batch_look import MOST_TRIES, Work
from sow.calls.batch_turn import settle
from sow.calls.caller import Caller, WouldEndItself
from sow.calls.cancel import (
    CANCEL_SECONDS,
    NotGivenBack,
    NothingToCancel,
    OpenOnTerminal,
    TooLate,
    cancel_job,
)
from sow.calls.wait import Progress, Waiter
from sow.errors import SowError
from sow.ids import JobId
from sow.jobs import batches, jobs
from sow.jobs.database import Database
from sow.schema.batch import AT_WORK, Batch, BatchState, ItemState
from sow.state.kept.store import project_id_at


def cancel_batch(caller: Caller, database: Database, batch: Batch) -> list[JobId]:
    """Cancel a batch and wait until its jobs have ended; return those that have not.

    Raises BatchHasEnded for one that is over; NotGivenBack, when all else is done, where a task
    cannot be written now whose job has ended.
    """
    with database.transaction():
        batch = batches.get_batch(database, batch.id)  # it may have ended since it was found
        is_first = not batch.state.has_ended
        if batch.state is BatchState.OVER:
            raise BatchHasEnded(batch)
        if batch.state is not BatchState.CANCELLED:
            fields = {"state": BatchState.CANCELLED, "ended_at": caller.now()}
            batches.change_batch(database, batch.id, **fields)
    found = batches.jobs_of(database, batch.id)
    live = [job.id for job in found if not job.state.is_final or job.owes_task]
    refusals = list(_refused(caller, database, live))
    left = _await_end(caller, database, live)
    _tell_of_items(caller, database, batch, among=frozenset(ItemState) if is_first else AT_WORK)
    if refusals:
        raise refusals[0]
    return left


def _refused(caller: Caller, database: Database, live: Sequence[JobId]) -> Iterator[NotGivenBack]:
    """Cancel some jobs; yield why a task cannot be given back. The others end as well."""
    for job_id in live:
        try:
            # One that has reported only ends; a person's own terminal is not ours to close.
            with suppress(NothingToCancel, TooLate, OpenOnTerminal, WouldEndItself):
                cancel_job(caller, database, jobs.get_job(database, job_id))
        except NotGivenBack as error:
            yield error


def _tell_of_items(
    caller: Caller, database: Database, batch: Batch, *, among: Collection[ItemState]
) -> None:
    """Put on record how the items have ended; a worker does it for what is still to end."""
    if project_id_at(caller.workspace.root) != batch.project_id:
        return
    with suppress(SowError):  # it is cancelled all the same
        work, seen = (
            Work(caller, database, caller.load_configuration(), batch),
            Seen(caller.workspace),
        )
        any(settle(work, seen, among=among) for _ in range(MOST_TRIES))


def _await_end(caller: Caller, database: Database, job_ids: list[JobId]) -> list[JobId]:
    active = sorted(jobs.active_among(database, job_ids))
    if not active:
        return []
    staffing = Staffing(caller, caller.load_configuration(), database)

    def tick(_: Progress) -> None:
        staffing.look_after()

    with Waiter(caller, database, passing=True) as waiter:
        waiter.begin(active)
        left = waiter.wait(seconds=CANCEL_SECONDS, on_tick=tick)
    return [job.id for job in left]
