"""Which change on record is an event that a person may want to hear of.

Owns the rules: one event an occasion, told where the occasion is over. What an
agent makes of its task is an event when its job ends, for until then it may
still change its mind, and nobody may judge the task.
"""

from sow.ids import JobId
from sow.jobs.database import Database
from sow.jobs.jobs import UnknownJob, get_job, last_job
from sow.schema.batch import PAUSED_BY_PERSON, BatchState, ItemState
from sow.schema.change import Change, ChangeKind
from sow.schema.job import Job
from sow.schema.kinds import kind_of
from sow.schema.notification import NotifyEvent

OF_STATUS: dict[str, NotifyEvent] = {
    event.value: event
    for event in (NotifyEvent.PAUSED, NotifyEvent.FAILED, NotifyEvent.NEEDS_REVIEW)
}
"""The statuses of a task that are events."""
OF_KIND: dict[str, NotifyEvent] = {
    event.value: event
    for event in (
        *(NotifyEvent.FAILED, NotifyEvent.PARKED, NotifyEvent.STALLED, NotifyEvent.WARNING),
    )
}
"""The kinds of changes that are events by themselves, under the same word."""


def event_of(database: Database, change: Change) -> NotifyEvent | None:
    """Return the event that a change is; None for all others.

    A batch sees to its items itself: what it cannot settle it tells as `needs_person`.
    """
    if change.kind in (ChangeKind.BATCH, ChangeKind.ITEM):
        return _event_of_batch(change)
    event: NotifyEvent | None = OF_KIND.get(change.kind)
    if change.kind != ChangeKind.STATUS and _is_told_under_another(database, change):
        return None
    if change.kind == ChangeKind.DONE or _is_news(database, change):
        event = OF_STATUS.get(change.data.status or "")
    return None if change.batch is not None and event in OF_STATUS.values() else event


def _event_of_batch(change: Change) -> NotifyEvent | None:
    """Return what a batch or an item of it has come to, where it was not there before."""
    data = change.data
    if data.status == data.before:
        return None
    if change.kind == ChangeKind.ITEM:
        return NotifyEvent.NEEDS_PERSON if data.status == ItemState.NEEDS_PERSON else None
    if data.status == BatchState.OVER:
        return NotifyEvent.BATCH_DONE
    is_brake = data.status == BatchState.PAUSED and data.reason != PAUSED_BY_PERSON
    return NotifyEvent.BRAKE if is_brake else None


def _is_told_under_another(database: Database, change: Change) -> bool:
    """Whether a job is about several tasks, and this is not its own one: each has a row of it."""
    job = _job_of(database, change.job)
    return job is not None and job.task_id != change.task


def _is_news(database: Database, change: Change) -> bool:
    """Whether a status is news that the end of no job has told, or will tell.

    The status in which a task is first seen is none: a queue's file that was
    begun anew would tell everything again.
    """
    if change.kind != ChangeKind.STATUS or change.data.before is None:
        return False
    if change.job is not None:
        job = _job_of(database, change.job)
        return job is not None and not kind_of(job).reports_status
    last = last_job(database, change.project, change.task)
    return last is None or last.outcome_status != change.data.status


def _job_of(database: Database, job_id: JobId | None) -> Job | None:
    """Return a job; None without one, and for one that was pruned: it has told all by then."""
    try:
        return get_job(database, job_id) if job_id is not None else None
    except UnknownJob:
        return None
