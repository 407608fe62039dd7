"""Enqueue, claim, settle: how a job passes through the queue, each step one transaction.

The promises:
* A job's queue row, its state and its lease change together.
* A claim checks the limits in the same transaction, so that they hold across
  every worker of the project. While an agent waits for a job that it started,
  its own job does not count against them (`waiters`).
* Every lease has a fencing token. A write under a token that is no longer the
  lease's raises Fenced and changes nothing.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NotRequired, TypedDict, Unpack

from sow.ids import JobId, WorkerId
from sow.jobs import records
from sow.jobs.database import Database, Row
from sow.jobs.jobs import change_job, get_job, held_jobs, last_attempt
from sow.jobs.messages import job_message, job_of
from sow.jobs.store import MOST_AGENTS
from sow.schema.job import HeldFor, Job, JobState, Lease

QUEUE = "sow"
"""The name of the one huey queue in the file."""


class Fenced(Exception):
    """The lease belongs to another worker by now: what this one wanted to write is void."""


class EndIsAsked(Exception):
    """Somebody has asked for the job's end: it is not started, nor does it wait once more."""


def enqueue(database: Database, job_id: JobId, *, now: float, retry_at: float = 0.0) -> None:
    """Put a job into the queue; it is not taken before `retry_at`."""
    with database.transaction():
        state = JobState.BACKOFF if retry_at > now else JobState.QUEUED
        # First: the trigger that records the change of state reads `retry_at` from the row.
        change_job(database, job_id, retry_at=retry_at, waits_since=now)
        _put(database, job_message(job_id), job_id, priority=None, now=now, state=state)


def enqueue_message(
    database: Database,
    data: bytes,
    *,
    priority: float | None,
    now: float,
) -> None:
    """Put a message into huey's queue; if it asks for a job on record, join the two.

    A job that already has its row, that runs or has ended, gets no second one.
    """
    _put(database, data, job_of(data), priority=priority, now=now, state=JobState.QUEUED)


def _put(
    database: Database,
    data: bytes,
    job_id: JobId | None,
    *,
    priority: float | None,
    now: float,
    state: JobState,
) -> None:
    """Put a message and the job that it asks for into the queue, as `enqueue_message` does."""
    joined: JobId | None = None
    with database.transaction():
        if job_id is not None:
            row = database.row("select state, queue_row, priority from job where id = ?", (job_id,))
            if row is not None:
                taken = row["queue_row"] is not None or lease_of(database, job_id) is not None
                if taken or JobState(row["state"]).is_final:
                    return
                if priority is not None:
                    change_job(database, job_id, priority=priority)
                joined, priority = job_id, row["priority"] if priority is None else priority
        number = database.insert(
            "insert into task (queue, data, priority, job_id) values (?, ?, ?, ?)",
            (QUEUE, data, priority or 0, joined),
        )
        if joined is not None:
            database.run(
                "update job set queue_row = ?, state = ?, queued_at = coalesce(queued_at, ?)"
                " where id = ?",
                (number, state.value, now, joined),
            )


COUNTED = "not exists (select 1 from waiter where waiter.on_behalf_of = lease.job_id)"
"""While an agent waits for a job that it started, its own lease counts against no limit."""
AGENTS = f"executor <> '' and {COUNTED}"
"""The leases that take an agent's slot."""
STEPS = f"executor = '' and {COUNTED}"
"""Those of checks and merges, which have no agent and a limit of their own."""

PAUSED_BATCH = """
    job.batch_step is not null
    and exists (select 1 from batch where batch.id = job.batch and batch.state = 'paused')
"""
"""What a batch wants done that is paused. What a person asks for in it is done all the same."""

SERVED_MARK = "(true)"
"""Where the conditions of a host that serves some jobs alone stand."""

FREE_STEP = f"(select count(*) from lease where {STEPS}) < :checks"  # noqa: S608 - as above
FREE_AGENT = f"(select count(*) from lease where {AGENTS}) < :total"  # noqa: S608 - as above
"""Whether the project's limits leave room; in a shared queue those of the host do."""

MAY_RUN = f"""
    +task.queue = :queue
      and not exists (select 1 from control where name = 'paused')
      and (job.id is null or (
        head.id = job.queue_row and job.retry_at <= :now
        and coalesce(job.held_for, '') <> '{HeldFor.SHARE}'
        and not ({PAUSED_BATCH}) and {SERVED_MARK}
        and (cast(:most as bigint) is null
            or (select count(*) from lease where worker_id = :worker and {COUNTED}) < :most)
        and case job.executor_name when '' then
            {FREE_STEP}
        else
            {FREE_AGENT}
            and (select count(*) from lease where worker_id = :worker and {AGENTS}) < :own
            and (job.max_parallel is null or job.max_parallel > (
                select count(*) from lease where executor = job.executor_name and {COUNTED}))
        end))
"""  # noqa: S608 - the only insertions are the constants above
"""What the limits allow of the messages with their jobs.

It names the head itself, so that a server looks at the limits of heads alone: it would else look at
those of every job and every message, and join the head afterwards.
"""

HEADS_MARK = "(heads)"
"""Where the store's query of what may come first stands."""

ANY_CLAIMABLE = f"""
    with head (id) as ({HEADS_MARK})
    select 1 from head join task on task.id = head.id left join job on job.queue_row = task.id
    where {MAY_RUN} limit 1
"""  # noqa: S608 - as above
"""Whether there is one: the first that is found ends the search."""

CLAIMABLE = f"""
    with head (id) as ({HEADS_MARK}), running as (
        select (select coalesce(batch, 0) from job where job.id = lease.job_id) as batch,
            count(*) filter (where lease.executor <> '') as agents,
            count(*) filter (where lease.executor = '') as steps
        from lease where {COUNTED} group by 1)
    select task.id, cast(task.data as blob) as data, job.id as job_id, job.executor_name
    from head join task on task.id = head.id left join job on job.queue_row = task.id
    left join running on running.batch = coalesce(job.batch, 0)
    where {MAY_RUN}
    order by coalesce(case job.executor_name when '' then running.steps else running.agents end, 0),
        task.priority desc, job.id nulls first, task.id limit 1
"""  # noqa: S608 - as above
"""Of the batches that have a job to be taken, all single calls being one of them, the one with the
fewest running comes first; so none has fewer than its share once what runs has ended. For an
agent's job the agents are counted, for a step the steps. What runs of jobs that a host of a shared
queue may not see (their batch is null) counts for none."""

ON_HOST = "split_part(lease.worker_id, '@', 2) = :host"
FREE_STEP_OF_HOST = f"(select count(*) from lease where {STEPS} and {ON_HOST}) < :checks"  # noqa: S608
FREE_AGENT_OF_HOST = f"""
    (select count(*) from lease where {AGENTS} and {ON_HOST}) < :total
    and not exists (select 1 from control where name = '{MOST_AGENTS}'
        and cast(value as bigint) <= (select count(*) from lease where {AGENTS}))
    and not exists (select 1 from control where name = '{MOST_AGENTS} ' || job.executor_name
        and cast(value as bigint) <= (
            select count(*) from lease where executor = job.executor_name and {COUNTED}))
"""  # noqa: S608 - as above
"""A host's own limits, and those of all hosts together."""

SERVED = f"""(
    (cast(:owners as text) is null or job.owner in (select value from json_each(:owners)))
    and (job.executor_name = '' or exists (
        select 1 from json_each(:executors) as each where each.key = job.executor_name
            and (each.value is null or cast(each.value as bigint) > (
                select count(*) from lease where {ON_HOST}
                    and executor = job.executor_name and {COUNTED}))))
    and not exists (select 1 from json_each(job.terms, '$.requires') as needed
        where needed.value not in (select value from json_each(:labels))))
"""  # noqa: S608 - as above
"""What a worker takes of a shared queue: jobs of the owners and executors that its user names, and
which require no more than it offers."""

HERE = """
    and (job.host_id = :host or (job.host_id = '' and :has_unmarked)
        or exists (select 1 from travel where travel.job_id = job.id))
    and not exists (select 1 from host where host.id <> :host
        and clock() - host.heard_at < lease_end() - clock()
        and host.id = coalesce(
            (select split_part(attempt.worker_id, '@', 2) from attempt
                where attempt.job_id = job.id order by attempt.number desc limit 1),
            (select travel.host from travel where travel.job_id = job.id)))
"""
"""Of these the jobs that may run on this host: its own, and such as travel. A session goes on where
it was begun, as long as that host is heard."""

CHECKS = 2
"""How many jobs without an agent run at once where nobody says another number."""


class Limits(TypedDict):
    """What bounds a claim; `claim` says how."""

    total: int
    own: int
    checks: NotRequired[int]
    most: NotRequired[int | None]


def _parameters(worker_id: WorkerId, now: float, limits: Limits) -> dict[str, Any]:
    return {
        "queue": QUEUE,
        "worker": worker_id,
        "now": now,
        "checks": CHECKS,
        "most": None,
        **limits,
    }


def is_any_claimable(
    database: Database, worker_id: WorkerId, *, now: float, **limits: Unpack[Limits]
) -> bool:
    """Whether `claim` would take a message now. Others may be quicker."""
    return _look(database, ANY_CLAIMABLE, _parameters(worker_id, now, limits)) is not None


def claim(
    database: Database,
    worker_id: WorkerId,
    *,
    now: float,
    **limits: Unpack[Limits],
) -> bytes | None:
    """Take the first message that may run now, and lease its job to `worker_id`.

    `total` bounds the running agents of the project, `own` those of this worker;
    each executor's `max_parallel` comes with the job. `checks` bounds the jobs
    without an agent that run in the project, `most` all of this worker's jobs of
    either sort, where it is short of something. Of the batch with the fewest running
    (all jobs outside of one count as one) the first job by priority, then by its id,
    whose limits allow it is taken: a full executor blocks nobody else's jobs, and a
    job that is retried keeps its place. A loss of power before the log is synced puts the
    message back into the queue, and has ended what was begun for it.
    """
    parameters = _parameters(worker_id, now, limits)
    with database.transaction(durable=False):
        while row := _look(database, CLAIMABLE, parameters):
            if row["job_id"] is not None:
                _take(database, row, worker_id, now)
                return bytes(row["data"])
            _set_aside(database, row, now)
        return None


def _look(database: Database, statement: str, parameters: dict[str, Any]) -> Row | None:
    """Return the first row of a look at what may run, within what this host serves."""
    if database.serves is None or not database.is_shared:
        return database.row(_with_heads(statement, database.heads), parameters)
    served = f"{SERVED}{HERE}" if database.host_id else SERVED
    statement = (
        _with_heads(statement, database.heads)
        .replace(SERVED_MARK, served)
        .replace(FREE_STEP, FREE_STEP_OF_HOST)
        .replace(FREE_AGENT, FREE_AGENT_OF_HOST)
    )
    here = {"host": database.host_id, "has_unmarked": not database.is_elsewhere("")}
    return database.row(statement, {**parameters, **database.serves._asdict(), **here})


@cache
def _with_heads(statement: str, heads: str) -> str:
    return statement.replace(HEADS_MARK, heads)


def _set_aside(database: Database, row: Row, now: float) -> None:
    """Keep a message that no job on record stands behind: it is shown, never run, never lost."""
    data = bytes(row["data"])
    job_id = job_of(data)
    reason = "it is no message of sow's" if job_id is None else f"job {job_id} is not on record"
    database.run("delete from task where id = ?", (row["id"],))
    database.run(
        "insert into aside (data, reason, set_aside_at) values (?, ?, ?)", (data, reason, now)
    )


def _take(database: Database, row: Row, worker_id: WorkerId, now: float) -> None:
    """Take a message out of the queue, and lease its job to a worker."""
    job_id, executor = row["job_id"], row["executor_name"]
    database.run_all(
        ("delete from task where id = ?", (row["id"],)),
        ("update fence set token = token + 1", ()),
        (
            "insert into lease (job_id, worker_id, token, executor, taken_at)"
            " select ?, ?, token, ?, ? from fence",
            (job_id, worker_id, executor, now),
        ),
        (
            "update job set state = ?, queue_row = null, started_at = coalesce(started_at, ?)"
            " where id = ?",
            (JobState.RUNNING.value, now, job_id),
        ),
    )


def _next_token(database: Database) -> int:
    database.run("update fence set token = token + 1")
    return int(database.value("select token from fence"))


CLOCK_SECONDS = 1.0
"""How far back a clock may step, as it is kept right, without anybody minding."""


def mend_waits(database: Database, *, now: float) -> int:
    """Have waits begin anew that began later than now: the clock was set back. Return how many.

    So a wait takes twice its length at the most, whoever set the clock and
    whichever worker notices; one that ends at a time of day (a usage limit's
    reset) is mended like the others, and asks again where that was too early.
    """
    later = {"now": now, "latest": now + CLOCK_SECONDS}
    sql = "queue_row is not null and retry_at > :now and waits_since > :latest"
    if database.row(f"select 1 from job where {sql} limit 1", later) is None:  # noqa: S608
        return 0
    return database.run(
        f"update job set retry_at = :now + (retry_at - waits_since), waits_since = :now where {sql}",  # noqa: S608, E501
        later,
    )


def next_retry_at(database: Database, *, now: float) -> float | None:
    """Return when the next waiting job may be tried again, if any waits for its time."""
    sql = "select min(retry_at) from job where queue_row is not null and retry_at > ?"
    at: float | None = database.value(sql, (now,))
    return at


def lease_of(database: Database, job_id: JobId) -> Lease | None:
    """Return the lease on a job, if it runs."""
    return records.first(database, Lease, "lease where job_id = ?", job_id)


def leases_of(database: Database, worker_id: WorkerId) -> list[Lease]:
    """Return the leases that a worker holds."""
    return records.every(database, Lease, "lease where worker_id = ? order by job_id", worker_id)


def slots_of(database: Database, worker_id: WorkerId) -> int:
    """Return how many slots a worker's jobs hold, counted as the limits count them.

    An agent that waits for a job that it has started holds none meanwhile, and a
    job without an agent never does.
    """
    sql = f"select count(*) from lease where worker_id = ? and {AGENTS}"  # noqa: S608
    return int(database.value(sql, (worker_id,)))


def lease_owners(database: Database) -> set[WorkerId]:
    """Return the workers that hold leases, registered or not."""
    return {
        WorkerId(row["worker_id"]) for row in database.rows("select distinct worker_id from lease")
    }


def owners_of_jobs(database: Database) -> dict[JobId, WorkerId]:
    """Return who runs each job that is leased."""
    rows = database.rows("select job_id, worker_id from lease")
    return {JobId(row["job_id"]): WorkerId(row["worker_id"]) for row in rows}


def leased_jobs(database: Database) -> set[JobId]:
    """Return the jobs that run, as far as the records go."""
    return {JobId(row["job_id"]) for row in database.rows("select job_id from lease")}


def is_any_other_leased(database: Database, job_id: JobId) -> bool:
    """Whether another job than this one runs."""
    sql = "select 1 from lease where job_id <> ? limit 1"
    return database.row(sql, (job_id,)) is not None


@contextmanager
def under(database: Database, lease: Lease, *, durable: bool = True) -> Iterator[None]:
    """Change records in one transaction that holds only while `lease` is valid.

    `durable` is the transaction's. Raises Fenced, and rolls back, when the job has been leased
    anew.
    """
    with database.transaction(durable=durable):
        token = database.value("select token from lease where job_id = ?", (lease.job_id,))
        if token != lease.token:
            raise Fenced(lease.job_id)
        yield


@contextmanager
def under_attempt(database: Database, job_id: JobId, number: int) -> Iterator[None]:
    """Change records in one transaction, for the program of an attempt that nobody has settled.

    Whichever worker watches it by now. Raises Fenced, and rolls back, when the
    attempt is settled, or is not its job's last one.
    """
    with database.transaction():
        row = database.row(
            "select 1 from job join lease on lease.job_id = job.id"
            " where job.id = ? and job.settled < ?"
            " and (select max(number) from attempt where attempt.job_id = job.id) = ?",
            (job_id, number, number),
        )
        if row is None:
            raise Fenced(job_id)
        yield


def end_is_asked(database: Database, job_id: JobId) -> bool:
    """Whether somebody has asked for the end of a job."""
    sql = "select cancel_requested_at from job where id = ?"
    return database.value(sql, (job_id,)) is not None


def refuse_if_asked(database: Database, job_id: JobId) -> None:
    """Raise EndIsAsked if the job's end was asked for; a transaction keeps the answer true."""
    if end_is_asked(database, job_id):
        raise EndIsAsked(job_id)


def settle(database: Database, lease: Lease, **changes: Any) -> None:
    """End the lease and write how its job stands now. Raises Fenced."""
    with database.transaction():
        _give_back(database, lease)
        change_job(database, lease.job_id, **changes)


def _give_back(database: Database, lease: Lease) -> None:
    """End a lease, in the transaction that is open. Raises Fenced."""
    its = (lease.job_id, lease.token)
    if not database.run("delete from lease where job_id = ? and token = ?", its):
        raise Fenced(lease.job_id)


def requeue(
    database: Database,
    lease: Lease,
    *,
    state: JobState,
    retry_at: float,
    now: float,
    **changes: Any,
) -> None:
    """End the lease and put its job back into the queue in the same commit.

    Raises Fenced; EndIsAsked where the job is to end instead.
    """
    with under(database, lease):
        refuse_if_asked(database, lease.job_id)
        settle(database, lease, retry_at=retry_at, waits_since=now, **changes)
        number = lease.job_id
        _put(database, job_message(number), number, priority=None, now=now, state=state)


def let_go_on(database: Database, job_id: JobId, *, now: float) -> None:
    """Have a job taken again that waits in the queue for a share of what others have reserved."""
    fields = {"held_for": None, "retry_at": now}
    key = {"id": job_id, "state": JobState.BACKOFF, "held_for": HeldFor.SHARE}
    records.update(database, "job", key, fields)


def hold(database: Database, lease: Lease, *, reason: str) -> None:
    """End the lease of a job that waits for a person's word; nobody takes it until `release`.

    Raises Fenced; EndIsAsked where the job is to end instead.
    """
    with under(database, lease):
        refuse_if_asked(database, lease.job_id)
        changes: dict[str, Any] = {"reason": reason, "held_for": HeldFor.TRUST}
        if last_attempt(database, lease.job_id) is None:
            changes["started_at"] = None  # it has begun when its first attempt has
        settle(database, lease, **changes, state=JobState.HELD)


def queue_or_hold(database: Database, job: Job, *, now: float) -> None:
    """Queue a job that is placed; hold it where that is to wait for its task's dependencies.

    Whether these are met already is for others to know: they `release` it.
    """
    if job.held_for is HeldFor.DEPENDENCIES:
        hold_until_ready(database, job.id, reason="it waits for the tasks that its own depends on")
    else:
        enqueue(database, job.id, now=now)


def hold_until_ready(database: Database, job_id: JobId, *, reason: str) -> None:
    """Hold a job that was never queued, until `release`."""
    changes = {"reason": reason, "held_for": HeldFor.DEPENDENCIES}
    change_job(database, job_id, **changes, state=JobState.HELD)


def keep_reason(database: Database, job_id: JobId, reason: str) -> None:
    """Say why a job is held, if it still is."""
    records.update(database, "job", {"id": job_id, "state": JobState.HELD}, {"reason": reason})


def release(database: Database, job_id: JobId, *, now: float) -> bool:
    """Queue a job that is held for its task's dependencies; False where it is not any more."""
    with database.transaction():
        job = get_job(database, job_id)
        if (job.state, job.held_for) != (JobState.HELD, HeldFor.DEPENDENCIES):
            return False
        change_job(database, job_id, reason="", held_for=None)
        enqueue(database, job_id, now=now)
        return True


def release_held(database: Database, chosen: Collection[JobId], *, now: float) -> list[JobId]:
    """Queue those of some jobs again that are held still for a person's word; return which."""
    with database.transaction():
        held = [job.id for job in held_jobs(database, HeldFor.TRUST) if job.id in chosen]
        for job_id in held:
            change_job(database, job_id, reason="", held_for=None)
            enqueue(database, job_id, now=now)
        return held


IS_KNOWN = "exists (select 1 from job where job.id = lease.job_id)"
"""A host of a shared queue sees the jobs alone that it serves; it takes the leases of no others."""


def take_over(
    database: Database, old: WorkerId, new: WorkerId, *, now: float, if_expired: bool = False
) -> list[Lease]:
    """Give every lease of a dead worker to `new` under fresh tokens; return them.

    The caller has proved `old` dead, or takes `if_expired` only what has passed its deadline, which
    a beat of `old` may move until this very change. From here on its writes are fenced.
    """
    is_free = f"{database.expired} and {IS_KNOWN}" if if_expired else "true"
    where = f"job_id = ? and {is_free}"
    with database.transaction():
        held = [lease.job_id for lease in leases_of(database, old)]
        taken = [
            job_id
            for job_id in held
            if database.run(
                f"update lease set worker_id = ?, token = ?, taken_at = ? where {where}",  # noqa: S608
                (new, _next_token(database), now, job_id),
            )
        ]
        return [lease for lease in leases_of(database, new) if lease.job_id in taken]


def have_expired(database: Database, worker_id: WorkerId) -> bool:
    """Whether a worker holds leases, and the deadline of each has passed for others."""
    row = database.row(
        "select count(*) as held, count(*) filter"  # noqa: S608 - a store's own words
        f" (where {database.expired}) as expired from lease where worker_id = ?",
        (worker_id,),
    )
    return row is not None and bool(0 < row["held"] == row["expired"])


def withdraw(database: Database, job_id: JobId) -> bool:
    """Take a job's row out of the queue; False when it had none (it runs, or has ended)."""
    with database.transaction():
        queue_row = database.value("select queue_row from job where id = ?", (job_id,))
        if queue_row is None:
            return False
        database.run("delete from task where id = ?", (queue_row,))
        database.run("update job set queue_row = null where id = ?", (job_id,))
        return True
