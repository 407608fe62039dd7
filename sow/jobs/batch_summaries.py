"""What is on record of batches for whoever lists them: no task has to be read for it.

Owns the SQL of these counts, of whether a batch rests, and of the items that an ended batch has
left without a word on how they ended. All of it was told by a look; the looks are `sow.batches`'s.
"""

from collections.abc import Callable, Sequence

from sow.ids import BatchId, ProjectId
from sow.jobs import records
from sow.jobs.database import ACTIVE, Database
from sow.schema.batch import AT_WORK, Batch, ItemState

UNSETTLED = f"not is_open and {records.among('state', sorted(AT_WORK))}"
"""The items of ended batches of which the record does not say how they have ended."""


def counts_of(
    database: Database, batch_ids: Sequence[BatchId]
) -> dict[BatchId, dict[ItemState, int]]:
    """Return for some batches how many of their items stand where, as was told last."""
    marks = ", ".join("?" * len(batch_ids))
    rows = database.rows(
        f"select batch_id, state, count(*) as n from batch_item where batch_id in ({marks})"  # noqa: S608
        " group by batch_id, state",
        batch_ids,
    )
    found: dict[BatchId, dict[ItemState, int]] = {batch_id: {} for batch_id in batch_ids}
    for row in rows:
        found[BatchId(row["batch_id"])][ItemState(row["state"])] = row["n"]
    return found


def note_rest(database: Database, batch_id: BatchId, *, rests: bool) -> None:
    """Put on record whether anything of a batch goes on by itself, as far as that is news."""
    key = (rests, batch_id, rests)
    database.run("update batch set rests = ? where id = ? and rests <> ?", key)


def is_any_open(database: Database) -> bool:
    """Whether any batch goes on, or has ended without a word on its items."""
    sql = f"""
        select exists (select 1 from batch where ended_at is null)
            or exists (select 1 from batch_item where {UNSETTLED})
    """  # noqa: S608 - words of ours
    return bool(database.value(sql))


def unsettled(
    database: Database,
    project_id: ProjectId,
    on_damaged: Callable[[records.DamagedRecord], None] = records.refuse,
) -> list[Batch]:
    """Return the ended batches of a project whose jobs have ended, and whose items do not say so.

    `on_damaged` is told of each batch that is no record.
    """
    source = f"""
        batch where project_id = ? and ended_at is not null
          and id in (select batch_id from batch_item where {UNSETTLED})
          and not exists (select 1 from job where job.batch = batch.id and ({ACTIVE} or owes_task))
        order by id
    """  # noqa: S608 - words of ours
    return records.every(database, Batch, source, project_id, on_damaged=on_damaged)


def stop_items(database: Database, batch_id: BatchId, reason: str) -> None:
    """Put on record of the items of an ended batch that nobody goes on with what was begun."""
    database.run(
        f"update batch_item set state = ?, reason = ? where batch_id = ? and {UNSETTLED}",  # noqa: S608
        (ItemState.WAITING.value, reason, batch_id),
    )
