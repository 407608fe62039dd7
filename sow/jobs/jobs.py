"""Job and attempt records: insert, find, change.

Owns the promise that a task has at most one live job, its own or one that is
about several tasks: unique indexes and triggers keep it across processes, in
the transaction that inserts the job. Leases and the queue's own rows are `leases`.
"""

import os
from collections.abc import Callable, Sequence
from enum import StrEnum
from itertools import takewhile
from typing import Any

import msgspec
from msgspec.structs import asdict

from sow.errors import StateError
from sow.ids import BatchId, JobId, ProjectId, TaskId
from sow.jobs import records
from sow.jobs.database import ACTIVE, ConstraintFailed, Database
from sow.jobs.live import OWN, SHARED
from sow.jobs.run_names import job_numbers
from sow.schema.causes import Cause
from sow.schema.job import WAITING_STATES, Attempt, HeldFor, Job, JobState
from sow.schema.kinds import verbs_of
from sow.state.authors import Author

OnDamaged = Callable[[records.DamagedRecord], None]
"""What is told of each row that is no record."""

LEASED = records.among("verb", verbs_of(lambda kind: kind.is_leased))
"""A worker runs the job; what is not so lives as long as its caller."""
INTERACTIVE = records.among("verb", verbs_of(lambda kind: kind.is_interactive))
JUDGES = records.among("verb", verbs_of(lambda kind: kind.judges))
"""The jobs of reviewers."""

MOST_COUNTED = 10
"""How far back refusals are counted."""
AMONG = "(select cast(value as bigint) from json_each(?))"
"""Some ids, which `_listed` hands over as one value: SQLite may allow no more than 999 of these."""
OF_TASK = """
    id in (
        select id from job where project_id = ? and task_id = ?
        union all
        select job_id from occupied where project_id = ? and task_id = ?)
"""
"""The jobs that are about a task, its own and those about others as well."""
WITHOUT_ROW = f"""
    {records.among("state", WAITING_STATES)}
    and not exists (select 1 from task where task.id = job.queue_row)
"""  # noqa: S608
HELD = f"{ACTIVE} and state = 'held' and coalesce(held_for, '{HeldFor.TRUST}') = ?"
"""The jobs that are held for something; an older sow knew one reason, and wrote none."""


class UnknownJob(StateError):
    """No job has this id. The same exit code as for an unknown task."""

    def __init__(self, job_id: JobId) -> None:
        super().__init__(f"no job {job_id}", hint="`sow job list` shows the jobs on record.")
        self.job_id = job_id


class TaskIsTaken(Exception):
    """Another live job of the task, or of one of the tasks, was inserted first."""


class StepIsTaken(Exception):
    """Another worker has placed this very job of a batch first, or the batch begins none now."""


def insert_job(database: Database, job: Job) -> Job:
    """Put a new job on record and return it with its id.

    Its number has no output on disk yet: a file that was restored from a
    backup has forgotten the newest jobs, but what they wrote is still there.
    Raises TaskIsTaken when the task, or another one that it is about, has a live job;
    StepIsTaken when its batch has placed it already.
    """
    fields = asdict(job)
    fields["executor_name"] = job.executor_name
    fields["max_parallel"] = job.executor.max_parallel if job.executor is not None else None
    if job.executor is None:
        fields["executor"] = records.NOTHING
    try:
        with database.transaction(), database.savepoint():
            if database.is_shared:
                _refuse_from_guest(database)
                fields |= _without_machine(fields)
            fields["id"] = _next_id(database)
            _refuse_unwanted(database, job)
            if job.batch is None:
                fields["batch"] = batch_of_task(database, job.project_id, job.task_id)
            job_id = fields["id"]
            records.insert(database, "job", fields)
            for task_id in job.tasks[1:]:
                occupied = {"job_id": job_id, "project_id": job.project_id, "task_id": task_id}
                records.insert(database, "occupied", occupied)
            return get_job(database, JobId(job_id))
    except ConstraintFailed as error:
        if _step_is_taken(database, job):
            raise StepIsTaken from error
        raise TaskIsTaken from error


class FromGuest(StateError):
    """An agent that runs on another host than its task's wants to queue a job."""

    def __init__(self) -> None:
        super().__init__(
            "no job was queued: on another host than its task's an agent cannot queue jobs",
            hint="Say in the task's log what else is to be done, and set your task's status.",
        )


def _refuse_from_guest(database: Database) -> None:
    if os.path.lexists(database.run_folder / "host"):
        raise FromGuest


def _without_machine(fields: dict[str, Any]) -> dict[str, Any]:
    from sow.jobs.machine_facts import without_machine  # few queues are shared

    return without_machine(fields)


def _listed(ids: Sequence[JobId] | Sequence[TaskId]) -> str:
    return msgspec.json.encode(ids).decode()


def batch_of_task(database: Database, project_id: ProjectId, task_id: TaskId) -> BatchId | None:
    """Return the batch that goes on and that a task belongs to, if any; so do its new jobs."""
    number = database.value(
        "select batch_id from batch_item where project_id = ? and task_id = ? and is_open",
        (project_id, task_id),
    )
    return BatchId(number) if number is not None else None


def _refuse_unwanted(database: Database, job: Job) -> None:
    """Raise StepIsTaken for a batch's own job that the batch does not want any more."""
    if job.batch_step is not None and not goes_on_with(database, job.batch, job.task_id):
        raise StepIsTaken


def goes_on_with(database: Database, batch_id: BatchId | None, task_id: TaskId) -> bool:
    """Whether a batch begins anything for a task.

    Not if it was paused or ended meanwhile, or the task was taken out of it.
    """
    row = database.row(
        "select 1 from batch join batch_item on batch_item.batch_id = batch.id"
        " where batch.id = ? and batch.state = 'running' and batch_item.task_id = ?",
        (batch_id, task_id),
    )
    return row is not None


def _step_is_taken(database: Database, job: Job) -> bool:
    row = database.row(
        "select 1 from job where batch = ? and task_id = ? and batch_step = ?",
        (job.batch, job.task_id, job.batch_step),
    )
    return row is not None


def _next_id(database: Database) -> int:
    """Return the number after the last one given; in the transaction that then takes it."""
    last = database.value("select seq from sqlite_sequence where name = 'job'")
    number = 1 + int(last or 0)
    folder = database.run_folder / "jobs"
    if not os.path.lexists(folder / str(number)):
        return number
    return 1 + max([number, *job_numbers(folder)])


def get_job(database: Database, job_id: JobId) -> Job:
    """Return a job; raises UnknownJob."""
    job = records.first(database, Job, "job where id = ?", job_id)
    if job is None:
        raise UnknownJob(job_id)
    return job


def state_of(database: Database, job_id: JobId) -> JobState:
    """Return a job's state alone; raises UnknownJob."""
    state = database.value("select state from job where id = ?", (job_id,))
    if state is None:
        raise UnknownJob(job_id)
    return JobState(state)


def change_job(database: Database, job_id: JobId, **changes: Any) -> None:
    """Set fields of a job."""
    if database.is_shared:
        changes |= _without_machine(changes)
    records.update(database, "job", {"id": job_id}, changes)
    if (name := changes.get("executor_name")) and not database.is_shared:
        # Its row in the table that outlives it: the trigger there looks at other columns. In a
        # shared queue one does so, for no role may write there.
        records.update(database, "job_history", {"job_id": job_id}, {"executor": name})


def note_change(
    database: Database, job: Job, kind: StrEnum, reason: str, *, batch: BatchId | None = None
) -> None:
    """Put a change of a job on record that no trigger writes; `batch` is told of it too."""
    fields = {
        "project": job.project_id,
        "task": job.task_id,
        "job": job.id,
        "batch": batch,
        "kind": kind,
        "data": {"reason": reason},
    }
    records.insert(database, "change", fields)


def live_job(database: Database, project_id: ProjectId, task_id: TaskId) -> Job | None:
    """Return the job of a task that has not ended, if any; it may be about others as well."""
    task = (project_id, task_id)
    return records.first(database, Job, OWN, *task) or records.first(database, Job, SHARED, *task)


def last_job(database: Database, project_id: ProjectId, task_id: TaskId) -> Job | None:
    """Return the newest job of a task, if any; it may be about others as well."""
    return last_jobs(database, project_id, [task_id]).get(task_id)


def last_jobs(
    database: Database, project_id: ProjectId, task_ids: Sequence[TaskId]
) -> dict[TaskId, Job]:
    """Return the newest job of each of some tasks, as `last_job` does for one."""
    rows = database.rows(
        """
        with newest(task, id) as (
            select value, max(
                coalesce((select max(id) from job where project_id = ?1 and task_id = value), 0),
                coalesce((select max(job_id) from occupied
                    where project_id = ?1 and task_id = value), 0))
            from json_each(?2))
        select newest.task as of_task, job.* from newest join job on job.id = newest.id
        """,
        (project_id, _listed(task_ids)),
    )
    found = records.taken(database, rows, Job)
    return {TaskId(row["of_task"]): job for row, job in zip(rows, found, strict=True)}


def tasks_with_jobs(
    database: Database, project_id: ProjectId, task_ids: Sequence[TaskId]
) -> frozenset[TaskId]:
    """Return those of some tasks that a job on record is about."""
    rows = database.rows(
        """
        select value from json_each(?2)
        where exists (select 1 from job where project_id = ?1 and task_id = value)
            or exists (select 1 from occupied where project_id = ?1 and task_id = value)
        """,
        (project_id, _listed(task_ids)),
    )
    return frozenset(TaskId(row["value"]) for row in rows)


def reviews_in_vain(database: Database, project_id: ProjectId, task_id: TaskId) -> int:
    """Return how many reviews of a task have failed one after the other, up to its newest job."""
    number = database.value(
        f"""
        select count(*) from job where project_id = ?1 and task_id = ?2 and id > coalesce(
            (select max(id) from job where project_id = ?1 and task_id = ?2
                and not ({JUDGES} and state = 'failed')), 0)
        """,  # noqa: S608 - words of ours
        (project_id, task_id),
    )
    return int(number)


def runs_to_an_end(database: Database, project_id: ProjectId, task_id: TaskId) -> int:
    """Return how many jobs of a task have ended that were not cancelled."""
    number = database.value(
        "select count(*) from job"
        " where project_id = ? and task_id = ? and state in ('done', 'failed')",
        (project_id, task_id),
    )
    return int(number)


def refused_merges(database: Database, project_id: ProjectId, task_id: TaskId) -> int:
    """Return how many merges of a task were refused one after the other, up to its newest job.

    Those of the task alone: where several were merged together, another one may be at fault.
    """
    rows = database.rows(
        f"""
        select cause, exists (select 1 from occupied where job_id = job.id) as is_joint
        from job where {OF_TASK} order by id desc limit {MOST_COUNTED}
        """,  # noqa: S608 - words of ours
        (project_id, task_id) * 2,
    )
    refused = (row["cause"] == Cause.MERGE_REFUSED and not row["is_joint"] for row in rows)
    return sum(1 for _ in takewhile(bool, refused))


def any_live_job(database: Database, project_id: ProjectId) -> JobId | None:
    """Return a job of a project that has not ended, one that runs before others, if any.

    Tells it also where the file was removed while we had it open: so it was when it went.
    """
    live = f"select max(id) as id from job where project_id = ?1 and {ACTIVE}"  # noqa: S608
    row = database.row_though_removed(
        f"select coalesce(({live} and state = 'running'), ({live})) as id", (project_id,)
    )
    return JobId(row["id"]) if row is not None and row["id"] is not None else None


def is_any_other_active(database: Database, job_id: JobId) -> bool:
    """Whether another job than this one has not ended."""
    sql = f"select 1 from job where {ACTIVE} and id <> ? limit 1"  # noqa: S608
    return database.row(sql, (job_id,)) is not None


def active_jobs(database: Database) -> list[Job]:
    """Return every job that has not ended, oldest first."""
    return records.every(database, Job, f"job where {ACTIVE} order by id")


def running_jobs(database: Database) -> list[Job]:
    """Return the jobs that run, oldest first; a record that cannot be read hides no other."""
    running = "job where state = 'running' order by id"
    return records.every(database, Job, running, on_damaged=lambda _: None)


def active_among(database: Database, job_ids: Sequence[JobId]) -> set[JobId]:
    """Return those of some jobs that have not ended."""
    sql = f"select id from job where id in {AMONG} and {ACTIVE}"  # noqa: S608
    return {JobId(row["id"]) for row in database.rows(sql, (_listed(job_ids),))}


def held_by_callers(database: Database, on_damaged: OnDamaged = records.refuse) -> list[Job]:
    """Return the jobs that only a living caller keeps going: not queued yet, or on a terminal."""
    source = f"job where {ACTIVE} and (state = 'preparing' or not {LEASED}) order by id"
    return records.every(database, Job, source, on_damaged=on_damaged)


def without_row(database: Database, on_damaged: OnDamaged = records.refuse) -> list[Job]:
    """Return the jobs that wait in the queue and have no row in it (it was flushed, say)."""
    source = f"job where {ACTIVE} and {WITHOUT_ROW} order by id"
    return records.every(database, Job, source, on_damaged=on_damaged)


def lacks_row(database: Database, job_id: JobId) -> bool:
    """Whether a job is one of those (`without_row`)."""
    sql = f"select 1 from job where id = ? and {WITHOUT_ROW}"  # noqa: S608
    return database.row(sql, (job_id,)) is not None


def has_active_jobs(database: Database) -> bool:
    """Whether any job has not ended that a worker has to do with: none that is open, or held.

    What waits in the queue for its paused batch is held as well.
    """
    sql = f"""
        select 1 from job where {ACTIVE} and {LEASED} and state <> 'held'
          and not (state in ('queued', 'backoff', 'parked') and batch_step is not null and exists (
            select 1 from batch where batch.id = job.batch and batch.state = 'paused')) limit 1
    """  # noqa: S608
    return database.row(sql) is not None


def held_jobs(database: Database, held_for: HeldFor) -> list[Job]:
    """Return the jobs that are held for something, oldest first."""
    return records.every(database, Job, f"job where {HELD} order by id", held_for.value)


def waiting_for_share(database: Database) -> list[Job]:
    """Return the jobs that wait for a share of what others have reserved, in their order."""
    waiting = f"{ACTIVE} and state = 'backoff' and held_for = ?"
    source = f"job where {waiting} order by priority desc, id"
    return records.every(database, Job, source, HeldFor.SHARE.value)


def is_any_held(database: Database, held_for: HeldFor) -> bool:
    """Whether any job is held for something."""
    sql = f"select 1 from job where {HELD} limit 1"  # noqa: S608
    return database.row(sql, (held_for.value,)) is not None


def is_one_held(database: Database) -> bool:
    """Whether any job is held, for whatever it is."""
    sql = f"select 1 from job where {ACTIVE} and state = 'held' limit 1"  # noqa: S608
    return database.row(sql) is not None


def are_held(database: Database, job_ids: Sequence[JobId]) -> bool:
    """Whether all of some jobs are held, for whatever it is."""
    rows = database.rows(f"select id from job where {ACTIVE} and state = 'held'")  # noqa: S608
    return bool(job_ids) and {JobId(row["id"]) for row in rows}.issuperset(job_ids)


def newest_id(database: Database) -> JobId:
    """Return the number of the newest job on record; 0 where there is none."""
    return JobId(database.value("select coalesce(max(id), 0) from job"))


def recent_jobs(
    database: Database,
    *,
    limit: int,
    project_id: ProjectId | None = None,
    task_id: TaskId | None = None,
    active_only: bool = False,
) -> list[Job]:
    """Return the newest jobs, newest first; `limit` bounds how many are read.

    Another project of the same checkout may have used the same task ids.
    """
    conditions: list[str] = []
    parameters: list[Any] = []
    if project_id is not None and task_id is not None:
        # By the index on a task's jobs: the project's own may be thousands.
        conditions.append(OF_TASK)
        parameters += [project_id, task_id, project_id, task_id]
    elif project_id is not None:
        conditions.append("+project_id = ?")  # not by an index: the newest come by their numbers
        parameters.append(project_id)
    elif task_id is not None:
        conditions.append("(task_id = ? or id in (select job_id from occupied where task_id = ?))")
        parameters += [task_id, task_id]
    if active_only:
        conditions.append(ACTIVE)
    where = f"where {' and '.join(conditions)}" if conditions else ""
    source = f"job {where} order by id desc limit ?"
    return records.every(database, Job, source, *parameters, limit)


def ancestors(database: Database, job_id: JobId) -> list[Job]:
    """Return the chain of jobs whose agents called each other down to `job_id`, itself first."""
    rows = database.rows(
        """
        with recursive chain(id, depth) as (
            values (cast(? as bigint), 0)
            union
            select job.parent, depth + 1 from chain join job on job.id = chain.id
            where job.parent is not null
        )
        select job.* from chain join job on job.id = chain.id order by depth
        """,
        (job_id,),
    )
    return records.taken(database, rows, Job)


def descendants(database: Database, job_id: JobId) -> list[Job]:
    """Return the jobs that have not ended, of those that a job's agent queued, and theirs.

    All generations, those below a job that has ended among them, oldest
    first. A session that is open on a terminal is there, but what was queued
    from it is not: that is the person's who sits there.
    """
    rows = database.rows(
        f"""
        with recursive family(id) as (
            select id from job where parent = ?
            union
            select job.id from family
                join job as elder on elder.id = family.id
                join job on job.parent = elder.id
            where not elder.{INTERACTIVE}
        )
        select job.* from family join job on job.id = family.id where {ACTIVE} order by job.id
        """,  # noqa: S608 - the only insertions are constants
        (job_id,),
    )
    return records.taken(database, rows, Job)


def owing(database: Database, on_damaged: OnDamaged = records.refuse) -> list[Job]:
    """Return the jobs that have ended and whose task is still to be given back, oldest first."""
    return records.every(database, Job, "job where owes_task order by id", on_damaged=on_damaged)


def pay_task(database: Database, job_id: JobId, **changes: Any) -> bool:
    """Note that a job owes its task no more, and set more fields; False if it owed nothing."""
    owing = {"id": job_id, "owes_task": True}
    return records.update(database, "job", owing, {"owes_task": False, **changes}) > 0


def insert_attempt(database: Database, attempt: Attempt) -> None:
    """Put a new attempt on record."""
    records.insert(database, "attempt", asdict(attempt))


def change_attempt(database: Database, job_id: JobId, number: int, **changes: Any) -> None:
    """Set fields of an attempt."""
    records.update(database, "attempt", {"job_id": job_id, "number": number}, changes)


def attempts(database: Database, job_id: JobId) -> Sequence[Attempt]:
    """Return the attempts of a job, first to last."""
    return records.every(database, Attempt, "attempt where job_id = ? order by number", job_id)


def attempt_counts(database: Database, job_ids: Sequence[JobId]) -> dict[JobId, int]:
    """Return how many attempts some jobs have had; a job without one is left out."""
    sql = f"select job_id, count(*) as n from attempt where job_id in {AMONG} group by job_id"  # noqa: S608
    return {JobId(row["job_id"]): row["n"] for row in database.rows(sql, (_listed(job_ids),))}


def attempts_on_record(database: Database, names: Sequence[str]) -> set[str]:
    """Return those of some attempts' ids that are on record."""
    sql = "select 1 from attempt where id = ?"
    return {name for name in names if database.row(sql, (name,)) is not None}


def last_attempt(database: Database, job_id: JobId) -> Attempt | None:
    """Return the newest attempt of a job, if any."""
    source = "attempt where job_id = ? order by number desc"
    return records.first(database, Attempt, source, job_id)


def died_since(database: Database, since: float) -> set[JobId]:
    """Return the jobs of which an attempt died with its worker or supervisor, found since then."""
    rows = database.rows(
        "select distinct job_id from attempt where cause = ? and ended_at >= ?",
        (Cause.WORKER_DIED.value, since),
    )
    return {JobId(row["job_id"]) for row in rows}


def attempts_on(database: Database, session_id: str) -> Sequence[Attempt]:
    """Return the attempts of all jobs on record that were made on a session, oldest first."""
    source = "attempt where session_id = ? order by job_id, number"
    return records.every(database, Attempt, source, session_id)


def is_session_of_another(database: Database, session_id: str, job: Job) -> bool:
    """Whether an attempt of another task than a job's is on record that was made on a session."""
    sql = (
        "select 1 from attempt join job on job.id = attempt.job_id"
        " where attempt.session_id = ? and (job.task_id != ? or job.project_id != ?)"
    )
    return database.row(sql, (session_id, job.task_id, job.project_id)) is not None


def author_of_job(job: Job, attempt: int | None = None, entry_id: str = "") -> Author:
    """Return sow itself, as the author of a change that it makes on behalf of a job."""
    return Author(role=job.agent, job=job.id, attempt=attempt, entry_id=entry_id)
