"""What was told, and how far: the cursor of notifications and a row for each of them.

The promise: a change is told once at the most, whoever dies. The cursor moves
past it in the transaction that puts its row on record, and only then is its
command started. A row whose worker died meanwhile is `uncertain`, and is not
told again. Owns the SQL; who runs commands is the worker.
"""

import sqlite3
from collections.abc import Collection
from typing import NamedTuple

from sow.ids import WorkerId
from sow.jobs import changes, records, workers
from sow.jobs.database import Database
from sow.jobs.events import event_of
from sow.jobs.records import DamagedRecord
from sow.paths import Workspace
from sow.processes.life import Life
from sow.schema.change import Change
from sow.schema.notification import Delivery, DeliveryState, NotifyEvent

TOLD_UP_TO = "notified up to"
"""The row of `control` that holds the number of the last change that was looked at."""
STALE_SECONDS = 86400.0
"""What is older is told no more: nobody wants the week's news when notifications are set up."""


class Claimed(NamedTuple):
    """A change that this worker, and nobody else, is to tell."""

    change: Change
    event: NotifyEvent


def begin(database: Database) -> None:
    """Tell only what comes from now on, in a file where nothing was told so far."""
    if _told_up_to(database) is None:
        database.run(
            "insert or ignore into control (name, value) values (?, ?)",
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
        database.run(
            "insert or replace into control (name, value) values (?, ?)", (TOLD_UP_TO, str(upto))
        )
        return found


def _wanted_event(
    database: Database, row: sqlite3.Row, wanted: Collection[NotifyEvent], now: float
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
    fields = {name: getattr(delivery, name) for name in Delivery.__struct_fields__}
    records.insert(database, "notification", fields)


def finish(database: Database, seq: int, state: DeliveryState, *, reason: str, now: float) -> None:
    """Put on record how a command ended; nothing where somebody has called it uncertain."""
    database.run(
        "update notification set state = ?, reason = ?, ended_at = ? where seq = ? and state = ?",
        (state.value, reason, now, seq, DeliveryState.RUNNING.value),
    )


def has_orphans(database: Database, workspace: Workspace) -> bool:
    """Whether a worker has died that was telling something."""
    left = _in_state(database, DeliveryState.RUNNING)
    return any(_is_dead(database, workspace, each.worker_id) for each in left)


def _is_dead(database: Database, workspace: Workspace, worker_id: WorkerId) -> bool:
    record = workers.find(database, worker_id)
    return workers.life_of(workspace, worker_id, record) is Life.DEAD


def call_uncertain(database: Database, workspace: Workspace, *, now: float) -> list[Delivery]:
    """Mark what workers were telling that are dead; return what was marked by us."""
    left = _in_state(database, DeliveryState.RUNNING)
    return [each for each in left if _is_orphan(database, workspace, each, now)]


def _is_orphan(database: Database, workspace: Workspace, lost: Delivery, now: float) -> bool:
    if not _is_dead(database, workspace, lost.worker_id):
        return False
    reason = f"worker {lost.worker_id} died while the command ran"
    return bool(
        database.run(
            "update notification set state = ?, reason = ?, ended_at = ?"
            " where seq = ? and state = ?",
            (
                DeliveryState.UNCERTAIN.value,
                reason,
                now,
                lost.seq,
                DeliveryState.RUNNING.value,
            ),
        ).rowcount
    )


def _in_state(database: Database, state: DeliveryState) -> list[Delivery]:
    rows = database.rows("select * from notification where state = ? order by seq", (state.value,))
    return records.readable(rows, Delivery, _pass_over)


def recent(database: Database, limit: int) -> list[Delivery]:
    """Return the last notifications, the newest first."""
    rows = database.rows("select * from notification order by seq desc limit ?", (limit,))
    return records.readable(rows, Delivery, _pass_over)


def forget_before(database: Database, at: float) -> None:
    """Remove the notifications that began before `at`."""
    database.run("delete from notification where began_at < ?", (at,))


def _pass_over(_error: DamagedRecord) -> None:
    """Leave a damaged row out: it hides no other."""


def _told_up_to(database: Database) -> int | None:
    row = database.row("select value from control where name = ?", (TOLD_UP_TO,))
    return int(row["value"]) if row is not None else None
