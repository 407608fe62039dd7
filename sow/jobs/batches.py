"""Batches and their items: make, find, change.

Owns their SQL. What an item comes to is derived in `sow.batches`; only what a
person has said of it, and what was told of it last, is kept.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import asdict

from sow.errors import StateError
from sow.ids import BatchId, JobId, ProjectId, TaskId
from sow.jobs import jobs, records
from sow.jobs.database import ACTIVE, ConstraintFailed, Database, Row
from sow.schema.amounts import ReachedLimit
from sow.schema.batch import AT_REST, Batch, BatchItem, BatchState, ItemState, Selection
from sow.schema.job import WAITING_STATES, HeldFor, JobState, Verb

LONGEST_NUMBER = 18
"""How many digits a number has that fits into a record."""

LEAVES_ITS_BATCH = f"""
    update job set batch = null, batch_step = null, batch_deed = null
    where batch = ? and task_id = ? and {ACTIVE}
"""  # noqa: S608 - a constant of ours


class UnknownBatch(StateError):
    """No batch has this number or name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no batch {name}", hint="`sow batch list` shows the batches on record.")


class SameBatchGoesOn(Exception):
    """Another call has made the same batch in this very moment."""


class JobInBatch(msgspec.Struct, frozen=True, kw_only=True):
    """What a batch has to know of a job of one of its tasks."""

    id: JobId
    task_id: TaskId
    verb: Verb
    agent: str = ""
    state: JobState
    cause: str | None = None
    reason: str = ""
    held_for: str | None = None
    step: int | None = None
    action: str | None = None
    cancel_asked: bool = False
    """Whether somebody has asked for its end: it was not undone by its own caller's death."""
    warnings: tuple[str, ...] = ()
    owes_task: bool = False
    """Whether it has ended, and its task is still to be given the status that it leaves."""
    started_at: float | None = None
    ended_at: float | None = None
    reached: ReachedLimit | None = None
    """The limit that has ended it."""


class UnderWay(NamedTuple):
    """The tasks of a project that something is to become of."""

    at_work: frozenset[TaskId]
    """Those with a job that runs, or is about to."""
    held: frozenset[TaskId]
    """Those with a job that is held until what they depend on is done."""
    waiting: frozenset[TaskId]
    """Those that the workers drive for a batch, and that have not begun."""
    driven: frozenset[TaskId]
    """Those that they drive for a batch, and that have."""


def insert_batch(database: Database, batch: Batch) -> Batch:
    """Put a new batch on record and return it with its number. Raises SameBatchGoesOn."""
    fields = asdict(batch)
    del fields["id"]
    if database.is_shared:
        from sow.jobs.machine_facts import without_machine  # few queues are shared

        fields |= without_machine(fields)
    try:
        with database.savepoint():
            number = records.insert_numbered(database, "batch", fields)
    except ConstraintFailed as error:
        raise SameBatchGoesOn from error
    return msgspec.structs.replace(batch, id=BatchId(number))


def get_batch(database: Database, batch_id: BatchId) -> Batch:
    """Return a batch. Raises UnknownBatch."""
    batch = records.first(database, Batch, "batch where id = ?", batch_id)
    if batch is None:
        raise UnknownBatch(str(batch_id))
    return batch


def find_batch(database: Database, project_id: ProjectId, name: str) -> Batch:
    """Return the batch of this number, or the newest of this name. Raises UnknownBatch.

    No batch is called by a number any more, but an older sow has made some.
    """
    if name.isdecimal() and len(name) <= LONGEST_NUMBER:
        with suppress(UnknownBatch):
            return get_batch(database, BatchId(int(name)))
    source = "batch where project_id = ? and name = ? order by id desc"
    batch = records.first(database, Batch, source, project_id, name) if name else None
    if batch is None:
        raise UnknownBatch(name or '""')
    return batch


def open_batch(database: Database, project_id: ProjectId, selection: Selection) -> Batch | None:
    """Return the batch of this selection that goes on, if any."""
    words = records.to_columns({"selection": selection})["selection"]
    source = "batch where project_id = ? and selection = ? and ended_at is null"
    return records.first(database, Batch, source, project_id, words)


def going_on(database: Database, project_id: ProjectId) -> list[Batch]:
    """Return the batches of a project that have not ended, oldest first."""
    source = "batch where project_id = ? and ended_at is null order by id"
    return records.every(database, Batch, source, project_id)


def last_batch(database: Database, project_id: ProjectId, selection: Selection) -> Batch | None:
    """Return the newest batch of this selection, whatever has become of it."""
    words = records.to_columns({"selection": selection})["selection"]
    source = "batch where project_id = ? and selection = ? order by id desc"
    return records.first(database, Batch, source, project_id, words)


def all_batches(database: Database, project_id: ProjectId, *, limit: int) -> list[Batch]:
    """Return the newest batches of a project, newest first."""
    source = "batch where project_id = ? order by id desc limit ?"
    return records.every(database, Batch, source, project_id, limit)


def beginnings(database: Database, project_id: ProjectId) -> dict[int, float]:
    """Return when each batch of a project was made, by its number."""
    rows = database.rows("select id, made_at from batch where project_id = ?", (project_id,))
    return {row["id"]: row["made_at"] for row in rows}


def made_by(database: Database, job_ids: Sequence[JobId]) -> list[Batch]:
    """Return the batches that go on and were made by the agents of some jobs."""
    source = "batch where ended_at is null and by_job is not null"
    found = records.every(database, Batch, source)
    return [batch for batch in found if batch.by_job in job_ids]


def change_batch(database: Database, batch_id: BatchId, **changes: Any) -> None:
    """Set fields of a batch; one that has ended keeps no task from another."""
    with database.transaction():
        records.update(database, "batch", {"id": batch_id}, changes)
        if changes.get("ended_at") is not None:
            database.run("update batch_item set is_open = false where batch_id = ?", (batch_id,))
            database.run("delete from merge_turn where batch_id = ?", (batch_id,))


def projects_going_on(database: Database) -> set[ProjectId]:
    """Return the projects that have batches which have not ended."""
    rows = database.rows("select distinct project_id from batch where ended_at is null")
    return {ProjectId(row["project_id"]) for row in rows}


def items_of(database: Database, batch_id: BatchId) -> list[BatchItem]:
    """Return the items of a batch, by their tasks."""
    source = "batch_item where batch_id = ? order by length(task_id), task_id"
    return records.every(database, BatchItem, source, batch_id)


def open_tasks(database: Database, project_id: ProjectId) -> dict[TaskId, BatchId]:
    """Return the tasks of a project that belong to a batch that goes on."""
    rows = database.rows(
        "select task_id, batch_id from batch_item where project_id = ? and is_open", (project_id,)
    )
    return {TaskId(row["task_id"]): BatchId(row["batch_id"]) for row in rows}


def add_items(database: Database, batch: Batch, task_ids: Sequence[TaskId]) -> None:
    """Add tasks to a batch; the jobs of theirs that live are its own from now on.

    Raises StateError.
    """
    with database.transaction():
        for task_id in task_ids:
            other = jobs.batch_of_task(database, batch.project_id, task_id)
            if other == batch.id:
                continue
            if other is not None:
                raise StateError(
                    f"task {task_id} is in batch {other}, which has not ended",
                    hint=f"`sow batch show {other}` shows the batch. "
                    f"`sow batch remove {other} {task_id}` removes the task from it.",
                )
            item = BatchItem(batch_id=batch.id, project_id=batch.project_id, task_id=task_id)
            records.insert(database, "batch_item", asdict(item))
            database.run(
                f"update job set batch = ? where project_id = ? and task_id = ? and {ACTIVE}",  # noqa: S608
                (batch.id, batch.project_id, task_id),
            )


def remove_items(database: Database, batch: Batch, task_ids: Sequence[TaskId]) -> None:
    """Take tasks out of a batch; their jobs that live are nobody's from now on."""
    with database.transaction():
        for task_id in task_ids:
            key = (batch.id, task_id)
            database.run(LEAVES_ITS_BATCH, key)
            database.run("delete from batch_item where batch_id = ? and task_id = ?", key)
            database.run("delete from merge_turn where batch_id = ? and task_id = ?", key)


def change_item(database: Database, batch_id: BatchId, task_id: TaskId, **changes: Any) -> None:
    """Set fields of an item."""
    records.update(database, "batch_item", {"batch_id": batch_id, "task_id": task_id}, changes)


def jobs_of(database: Database, batch_id: BatchId) -> list[JobInBatch]:
    """Return the jobs of a batch's tasks since they belonged to it, oldest first."""
    rows = database.rows(
        "select id, task_id, verb, agent, state, cause, reason, held_for, batch_step as step,"
        " batch_deed as action, cancel_requested_at is not null as cancel_asked, warnings,"
        " owes_task, started_at, ended_at, reached from job where batch = ? order by id",
        (batch_id,),
    )
    return [records.from_row(row, JobInBatch) for row in rows]


def totals_of(database: Database, batch_id: BatchId, *, now: float) -> list[Row]:
    """Return for each task of a batch what its jobs have taken together.

    The attempts are those of agents: a check or a merge tries nothing again. One that runs
    counts until `now`.
    """
    return database.rows(
        """
        select task_id, count(distinct job.id) as jobs,
            count(case when job.executor_name <> '' then number end) as attempts,
            sum(max(0, coalesce(attempt.ended_at, :now)
                - coalesce(attempt.started_at, attempt.created_at))) as seconds
        from job left join attempt on attempt.job_id = job.id
        where batch = :batch group by task_id
        """,
        {"batch": batch_id, "now": now},
    )


def used_in(database: Database, batch_id: BatchId) -> list[Row]:
    """Return for each task of a batch what its agents have used, pruned jobs among it."""
    return database.rows(
        """
        select task_id, sum(usd) as usd, max(is_estimate) as is_estimate,
            sum(coalesce(input, 0) + coalesce(output, 0) + coalesce(cache_read, 0)
                + coalesce(cache_write, 0)) as tokens,
            count(input) as told
        from spending where batch = ? group by task_id
        """,
        (batch_id,),
    )


def carried_by(database: Database, project_id: ProjectId) -> dict[TaskId, JobId]:
    """Return the tasks that a live job of another task is about as well (a merge of several)."""
    rows = database.rows(
        "select task_id, job_id from occupied where project_id = ? and is_live", (project_id,)
    )
    return {TaskId(row["task_id"]): JobId(row["job_id"]) for row in rows}


def live_jobs(database: Database, project_id: ProjectId) -> dict[TaskId, JobId]:
    """Return the job of each task that has one which has not ended."""
    rows = database.rows(
        f"select task_id, id from job where project_id = ? and {ACTIVE}",  # noqa: S608
        (project_id,),
    )
    return {TaskId(row["task_id"]): JobId(row["id"]) for row in rows}


def under_way(database: Database, project_id: ProjectId) -> UnderWay:
    """Return the tasks of a project that something is to become of."""
    found: dict[str, set[TaskId]] = {name: set() for name in UnderWay._fields}
    found["at_work"] |= carried_by(database, project_id).keys()
    for row in database.rows(
        "select task_id, state, held_for, batch_step,"  # noqa: S608
        " (select state from batch where id = job.batch) as batch_state"
        f" from job where project_id = ? and {ACTIVE}",
        (project_id,),
    ):
        if row["state"] == JobState.HELD:
            if row["held_for"] == HeldFor.DEPENDENCIES:
                found["held"].add(TaskId(row["task_id"]))
            continue
        waits = row["state"] in WAITING_STATES and row["batch_step"] is not None
        if not (waits and row["batch_state"] == BatchState.PAUSED):
            found["at_work"].add(TaskId(row["task_id"]))
    for row in database.rows(
        "select task_id, batch_item.state from batch_item join batch on batch.id = batch_id"
        " where batch_item.project_id = ? and is_open and batch.state = ?",
        (project_id, BatchState.RUNNING.value),
    ):
        state = ItemState(row["state"])
        if state not in AT_REST:
            kind = "waiting" if state is ItemState.WAITING else "driven"
            found[kind].add(TaskId(row["task_id"]))
    return UnderWay(**{name: frozenset(tasks) for name, tasks in found.items()})


def forget_refusals(database: Database, batch_id: BatchId) -> None:
    """Let what was refused be tried again."""
    database.run(
        "update batch_item set refusal = '' where batch_id = ? and refusal <> ''", (batch_id,)
    )


def take_turn(database: Database, batch: Batch, task_id: TaskId) -> bool:
    """Take the turn to merge into the project's branch; False while another item has it.

    A batch that was paused or ended since it was looked at takes none, nor does a task that was
    taken out of it: nobody might ever give that back.
    """
    with database.transaction():
        if not jobs.goes_on_with(database, batch.id, task_id):
            return False
        row = turn_of(database, batch.project_id)
        if row is None:
            database.run(
                "insert into merge_turn (project_id, batch_id, task_id) values (?, ?, ?)",
                (batch.project_id, batch.id, task_id),
            )
        return row in (None, (batch.id, task_id))


def turn_of(database: Database, project_id: ProjectId) -> tuple[BatchId, TaskId] | None:
    """Return which item has the turn to merge into a project's branch, if any."""
    row = database.row("select * from merge_turn where project_id = ?", (project_id,))
    return (BatchId(row["batch_id"]), TaskId(row["task_id"])) if row is not None else None


def give_turn_back(database: Database, batch: Batch, task_id: TaskId) -> None:
    """Let another item merge; the batches of the project are to look again."""
    with database.transaction():
        gone = database.run(
            "delete from merge_turn where project_id = ? and batch_id = ? and task_id = ?",
            (batch.project_id, batch.id, task_id),
        )
        if gone:
            database.run(
                "update batch set seen = 0 where project_id = ? and ended_at is null and id <> ?",
                (batch.project_id, batch.id),
            )


def forget_before(database: Database, at: float) -> int:
    """Remove the batches that ended before `at`, in seconds since the epoch; return how many."""
    with database.transaction():
        ended = "select id from batch where ended_at < ?"
        # Their items' going is no change that anybody is to be told of.
        database.run(f"delete from batch_item where batch_id in ({ended})", (at,))  # noqa: S608
        return database.run("delete from batch where ended_at < ?", (at,))
