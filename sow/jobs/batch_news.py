"""What has happened to a batch since somebody saw to it, and telling that something has.

Owns which changes are pending for a batch, and their SQL.
"""

from collections.abc import Callable, Sequence

from sow.ids import BatchId, ProjectId, TaskId
from sow.jobs import jobs, records
from sow.jobs.batches import change_item, going_on
from sow.jobs.database import Database
from sow.schema.batch import Batch
from sow.schema.change import ChangeKind
from sow.schema.job import FINAL_STATES

HEEDED = records.among(
    "kind",
    (*sorted(ChangeKind(state) for state in FINAL_STATES), ChangeKind.HELD, ChangeKind.RUNNING),
)
"""The changes of a job after which its batch may have something to do."""
OF_TASKS = records.among("kind", (ChangeKind.STATUS, ChangeKind.VERDICT))
"""Those of any task of the project: an item may depend on it."""
_SAID = "case when json_valid(data) then json_extract(data, '$.{}') end"
GIVEN_UP = f"""(
    kind = 'item' and {_SAID.format("status")} = 'removed'
    or kind = 'batch' and {_SAID.format("status")} in ('paused', 'cancelled', 'over'))"""
"""Those of any batch of the project: it may have left a task that an item depends on, or the turn
to merge that an item waits for."""
MOST_BEHIND = 1000
"""So many changes that say nothing to a batch are read again and again at the most."""
NEW_ITEM = f"(kind = 'item' and {_SAID.format('before')} is null)"
FAILED = f"(kind = 'failed' or kind = 'done' and {_SAID.format('status')} = 'failed')"
"""The ends of jobs that have failed, and of those whose agents have left their task failed."""
NEWEST = "coalesce((select seq from sqlite_sequence where name = 'change'), 0)"


def pending(
    database: Database,
    project_id: ProjectId | None = None,
    on_damaged: Callable[[records.DamagedRecord], None] = records.refuse,
    *,
    to_drive: bool = False,
) -> list[Batch]:
    """Return the batches that go on and that something has happened to since they were seen to.

    One look at the newest number where nothing has. `project_id` leaves out other projects'.
    `on_damaged` is told of each batch that is no record. `to_drive`: those alone that this host
    drives, of a queue that several share.
    """
    source = f"""
        batch indexed by batch_open
        where ended_at is null and seen < {NEWEST} and (cast(? as text) is null or project_id = ?)
          and exists (
            select 1 from change where change.seq > batch.seen and (
                (change.batch = batch.id
                    and (kind in ('batch', 'placed') or {HEEDED} or {NEW_ITEM}))
                or (change.project = batch.project_id and ({OF_TASKS} or {GIVEN_UP}))))
        order by id
    """  # noqa: S608 - words of ours
    found = records.every(database, Batch, source, project_id, project_id, on_damaged=on_damaged)
    return own_of(database, found) if to_drive and database.is_shared else found


def own_of(database: Database, some: Sequence[Batch]) -> list[Batch]:
    """Return those of some batches that this host drives, of a queue that several share."""
    # Few queues are shared.
    from sow.jobs.hosts import is_batch_elsewhere

    return [batch for batch in some if not is_batch_elsewhere(database, batch.id)]


def acknowledge(database: Database, batch_id: BatchId, seq: int) -> None:
    """Note that all that has happened up to a change has led to whatever it leads to."""
    database.run("update batch set seen = max(seen, ?) where id = ?", (seq, batch_id))


def pass_over(database: Database, project_id: ProjectId, upto: int) -> None:
    """Note of the batches that nothing has happened to for long that there was nothing to heed.

    So a look at one that rests reads no more than so many changes, however long it rests.
    """
    behind = "project_id = ? and ended_at is null and seen < ?"
    limits = (project_id, upto - MOST_BEHIND)
    if database.row(f"select 1 from batch where {behind} limit 1", limits) is None:  # noqa: S608
        return
    with database.transaction():
        waiting = {batch.id for batch in pending(database, project_id, lambda _: None)}
        if database.is_shared:
            goes_on = going_on(database, project_id)
            waiting |= {batch.id for batch in goes_on} - {
                batch.id for batch in own_of(database, goes_on)
            }
        for row in database.rows(f"select id from batch where {behind}", limits):  # noqa: S608
            if row["id"] not in waiting:
                acknowledge(database, BatchId(row["id"]), upto)


def has_new_failure(database: Database) -> bool:
    """Whether a job of a batch, or its agent, has failed since the batch was seen to.

    It may have to brake, or to stop at its first failure.
    """
    sql = f"""
        select 1 from batch indexed by batch_open
        where ended_at is null and seen < {NEWEST}
          and exists (
            select 1 from change where change.seq > batch.seen
                and change.batch = batch.id and {FAILED})
    """  # noqa: S608 - words of ours
    return database.row(sql) is not None


def reopen(database: Database, batch_id: BatchId) -> None:
    """Record that there is news for a batch which stays as it is: workers look at it once more.

    Somebody has resumed it or paid for it, or a task was given back that counted as at work.
    """
    with database.transaction():
        row = database.row(
            "select project_id, state from batch where id = ? and ended_at is null", (batch_id,)
        )
        if row is not None:
            data = {"before": row["state"], "status": row["state"], "reason": ""}
            _tell(database, ProjectId(row["project_id"]), "", batch_id, ChangeKind.BATCH, data)


def touch(
    database: Database, project_id: ProjectId, task_id: TaskId, status: str, *, forgives: bool
) -> bool:
    """Record that somebody has judged a task of a batch; tell whether one goes on with it.

    `forgives`: what was refused or has failed until now is tried again, as with a resume.
    """
    batch_id = jobs.batch_of_task(database, project_id, task_id)
    if batch_id is None:
        return False
    with database.transaction():
        forgiven = {"forgiven": jobs.newest_id(database)} if forgives else {}
        change_item(database, batch_id, task_id, refusal="", **forgiven)
        data = {"status": status}
        _tell(database, project_id, task_id, batch_id, ChangeKind.VERDICT, data)
    return True


def _tell(
    database: Database,
    project_id: ProjectId,
    task_id: str,
    batch_id: BatchId,
    kind: ChangeKind,
    data: dict[str, str],
) -> None:
    """Put a change on record that is news for a batch."""
    fields = {"project": project_id, "task": task_id, "batch": batch_id}
    records.insert(database, "change", {**fields, "kind": kind, "data": data})
