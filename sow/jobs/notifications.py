"""What was told, and how far: the cursor of notifications and a row for each of them.

The promise: a change is told once at the most, whoever dies. The cursor moves
past it in the transaction that puts its row on record, and only then is its
command started. A row whose worker died meanwhile is `uncertain`, and is not
told again. Owns the SQL; who runs commands is the worker.
"""

from collections.abc import Collection
from typing import NamedTuple

from msgspec.structs import asdict

from sow.ids import JobId, WorkerId
from sow.jobs import changes, records, workers
from sow.jobs.database import Database, Row
from sow.jobs.jobs import UnknownJob, get_job, last_job
from sow.jobs.records import DamagedRecord
from sow.paths import Workspace
from sow.processes.life import Life
from sow.schema.batch import PAUSED_BY_PERSON, BatchState, ItemState
from sow.schema.change import Change, ChangeKind
from sow.schema.job import Job
from sow.schema.kinds import kind_of
from sow.schema.notification import Delivery, DeliveryState, NotifyEvent

OF_STATUS: dict[str, NotifyEvent] = {
    event.value: event
    for event in (NotifyEvent.PAUSED, NotifyEvent.FAILED, NotifyEvent.NEEDS_REVIEW)
}
"""The statuses of a task that are events."""
OF_KIND: dict[str, NotifyEvent] = {
    event.value: event
    for event in (NotifyEvent.FAILED, NotifyEvent.PARKED, NotifyEvent.STALLED, NotifyEvent.WARNING)
}
"""The kinds of changes that are events by themselves, under the same word."""
TOLD_UP_TO = "notified up to"
"""The row of `control` that holds the number of the last change that was looked at."""
STALE_SECONDS = 86400.0
"""What is older is told no more: nobody wants the week's news when notifications are set up."""


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


class Claimed(NamedTuple):
    """A change that this worker, and nobody else, is to tell."""

    change: Change
    event: NotifyEvent


def begin(database: Database) -> None:
    """Tell only what comes from now on, in a file where nothing was told so far."""
    if _told_up_to(database) is None:
        database.run(
            "insert into control (name, value) values (?, ?) on conflict do nothing",
            (TOLD_UP_TO, str(changes.newest(database).seq)),
        )


def has_news(database: Database) -> bool:
    """Whether there are changes that nobody has looked at yet."""
    return changes.newest(database).seq > (_told_up_to(database) or 0)


def claim_next(
    database: Database, worker_id: WorkerId, wanted: Collection[NotifyEvent], *, now: float
) -> Claimed | None:
    """Put the next event that is wanted on record as being told by `worker_id`; None if none is."""
    found = None
    while found is None and has_news(database):
        found = _claim_among_next(database, worker_id, wanted, now)
    return found


def _claim_among_next(
    database: Database, worker_id: WorkerId, wanted: Collection[NotifyEvent], now: float
) -> Claimed | None:
    """Look at the next few changes, in one transaction: nobody else can write meanwhile."""
    with database.transaction():
        upto = _told_up_to(database) or 0
        found = None
        rows = changes.rows_after(database, upto)
        if not rows:  # the newest were pruned
            upto = changes.newest(database).seq
        for row in rows:
            upto = row["seq"]
            found = _wanted_event(database, row, wanted, now)
            if found is not None:
                _put_on_record(database, found, worker_id, now)
                break
        database.note(TOLD_UP_TO, upto)
        return found


def _wanted_event(
    database: Database, row: Row, wanted: Collection[NotifyEvent], now: float
) -> Claimed | None:
    try:
        change = changes.change_of(row)
        event = event_of(database, change) if now - change.at < STALE_SECONDS else None
    except DamagedRecord:  # it hides no other
        return None
    return Claimed(change, event) if event is not None and event in wanted else None


def _put_on_record(database: Database, claimed: Claimed, worker_id: WorkerId, now: float) -> None:
    change, event = claimed
    delivery = Delivery(
        seq=change.seq,
        event=event,
        project=change.project,
        task=change.task,
        job=change.job,
        worker_id=worker_id,
        state=DeliveryState.RUNNING,
        reason="",
        began_at=now,
    )
    records.insert(database, "notification", asdict(delivery))


def finish(database: Database, seq: int, state: DeliveryState, *, reason: str, now: float) -> bool:
    """Put on record how a command ended; False where somebody has called it uncertain."""
    key = {"seq": seq, "state": DeliveryState.RUNNING}
    ended = {"state": state, "reason": reason, "ended_at": now}
    return records.update(database, "notification", key, ended) > 0


def has_orphans(database: Database, workspace: Workspace) -> bool:
    """Whether a worker has died that was telling something."""
    left = _in_state(database, DeliveryState.RUNNING)
    return any(_is_dead(database, workspace, each.worker_id) for each in left)


def _is_dead(database: Database, workspace: Workspace, worker_id: WorkerId) -> bool:
    record = workers.find(database, worker_id)
    return workers.life_of(database, workspace, worker_id, record) is Life.DEAD


def call_uncertain(database: Database, workspace: Workspace, *, now: float) -> list[Delivery]:
    """Mark what workers were telling that are dead; return what was marked by us."""
    left = _in_state(database, DeliveryState.RUNNING)
    return [each for each in left if _is_orphan(database, workspace, each, now)]


def _is_orphan(database: Database, workspace: Workspace, lost: Delivery, now: float) -> bool:
    if not _is_dead(database, workspace, lost.worker_id):
        return False
    reason = f"worker {lost.worker_id} died while the command ran"
    return finish(database, lost.seq, DeliveryState.UNCERTAIN, reason=reason, now=now)


def _in_state(database: Database, state: DeliveryState) -> list[Delivery]:
    source = "notification where state = ? order by seq"
    return records.every(database, Delivery, source, state.value, on_damaged=_pass_over)


def recent(database: Database, limit: int) -> list[Delivery]:
    """Return the last notifications, the newest first."""
    source = "notification order by seq desc limit ?"
    return records.every(database, Delivery, source, limit, on_damaged=_pass_over)


def forget_before(database: Database, at: float) -> None:
    """Remove the notifications that began before `at`."""
    database.run("delete from notification where began_at < ?", (at,))


def _pass_over(_error: DamagedRecord) -> None:
    """Leave a damaged row out: it hides no other."""


def _told_up_to(database: Database) -> int | None:
    seq = database.noted(TOLD_UP_TO)
    return int(seq) if seq is not None else None
