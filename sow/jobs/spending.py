"""What attempts have used: a row each, from their start on, which no pruning removes.

Owns the SQL of these rows and of their sums, and that a job's cost is such a sum. How what a run
has used is found out is `sow.attempts.run_usage`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sow.ids import JobId, ProjectId, TaskId
from sow.jobs import records
from sow.jobs.database import Database
from sow.schema.amounts import Amounts, Measure
from sow.schema.spending import By, Spending, Used
from sow.schema.usage import RunUsage, Totals

if TYPE_CHECKING:
    # Whoever asks what a task has used reads no jobs.
    from sow.schema.causes import Cause
    from sow.schema.job import Attempt, Job


def begin(database: Database, job: "Job", attempt: "Attempt", share: Amounts) -> None:
    """Put on record that an attempt of an agent begins, with its share of what is limited.

    In the transaction that begins it, after features were asked (`on_begin`).
    """
    shares = {f"share_{measure}": share.of(measure) for measure in Measure}
    records.insert(database, "spending", {**_first_fields(job, attempt), **shares})


def note(
    database: Database,
    job: "Job",
    attempt: "Attempt",
    run: RunUsage,
    totals: Totals | None,
    **more: Any,
) -> None:
    """Write what an attempt has used so far, and its job's cost with it, as often as one likes.

    `more` are further fields. An attempt that an older sow has begun gets its row now.
    """
    key = {"job_id": job.id, "number": attempt.number}
    kinds = ("input", "output", "cache_read", "cache_write")
    fields = {
        **{kind: getattr(run.tokens, kind) if run.tokens else None for kind in kinds},
        "usd": run.usd,
        "is_estimate": run.is_estimate,
        "is_partial": run.is_partial,
        "is_unpriced": run.is_unpriced,
        "models": dict(run.models),
        "totals": totals,
        **more,
    }
    with database.transaction():
        if not records.update(database, "spending", key, fields):
            records.insert(database, "spending", {**_first_fields(job, attempt), **fields})
        sums = "select sum(usd) from spending where job_id = ?"
        database.run(
            f"update job set cost_usd = coalesce(({sums}), cost_usd) where id = ?",  # noqa: S608
            (job.id, job.id),
        )


def close(database: Database, job_id: JobId, *, now: float) -> None:
    """Put an end to what a job's attempts use of which nobody will tell any more.

    It was when the attempt has ended, where that is on record, and now otherwise. What is known
    of its use may be less than it has used.
    """
    database.run(
        "update spending set is_partial = true, is_unpriced = true,"
        " ended_at = max(began_at, coalesce((select attempt.ended_at from attempt"
        " where attempt.job_id = spending.job_id and attempt.number = spending.number), ?))"
        " where job_id = ? and ended_at is null",
        (now, job_id),
    )


def _first_fields(job: "Job", attempt: "Attempt") -> dict[str, Any]:
    return {
        "job_id": job.id,
        "number": attempt.number,
        "project_id": job.project_id,
        "task_id": job.task_id,
        "batch": job.batch,
        "agent": job.agent,
        "executor": job.executor_name,
        "session_id": attempt.session_id,
        "began_at": attempt.started_at or attempt.created_at,
        "models": {},
    }


def totals_before(database: Database, attempt: "Attempt", session_id: str | None) -> list[Totals]:
    """Return what the runs of a session have told that began before an attempt."""
    if session_id is None:
        return []
    source = """
        spending where session_id = ? and totals is not null
            and (job_id < ? or job_id = ? and number < ?)
    """
    key = (session_id, attempt.job_id, attempt.job_id, attempt.number)
    found = records.every(database, Spending, source, *key)
    return [spending.totals for spending in found if spending.totals is not None]


def share_of(database: Database, job_id: JobId, number: int) -> Amounts:
    """Return what an attempt has reserved."""
    row = database.row(
        "select share_usd, share_tokens, share_time from spending where job_id = ? and number = ?",
        (job_id, number),
    )
    return Amounts(usd=row[0], tokens=row[1], time=row[2]) if row is not None else Amounts()


def used_in_project(
    database: Database, project_id: ProjectId, by: By, *, now: float, since: float
) -> tuple[Used, Sequence[Used]]:
    """Return what the attempts of a project have used, in all and grouped, as of one moment.

    Counted are those that ended after `since`, and those that go on. Of an attempt
    that has used several models each group holds its part; in all it counts once.
    """
    rows = _BY_MODEL if by is By.MODEL else "spending"
    where = "project_id = :project and coalesce(ended_at, :since) >= :since"
    groups = f"select {_KEYS[by]} as key, {SUMS} from {rows} where {where} group by 1 order by 1"  # noqa: S608 - ours
    total, *found = database.rows(
        f"select '' as key, {SUMS} from spending where {where}"  # noqa: S608 - ours
        f" union all select * from ({groups}) as grouped",
        {"project": project_id, "since": since, "now": now},
    )
    return records.from_row(total, Used), [records.from_row(row, Used) for row in found]


def used_for_task(
    database: Database, project_id: ProjectId, task_id: TaskId, *, now: float
) -> Used:
    """Return what the attempts of a task's jobs have used, whether these are still on record."""
    where = "project_id = :project and task_id = :task"
    return _sum(database, where, project=project_id, task=task_id, now=now)


def used_by_job(database: Database, job_id: JobId, *, now: float) -> Used:
    """Return what the attempts of a job have used."""
    return _sum(database, _OF_JOB, job=job_id, now=now)


def used_by_attempts(database: Database, job_id: JobId, *, now: float) -> Mapping[int, Used]:
    """Return what each attempt of a job has used, by its number."""
    rows = database.rows(
        f"select cast(number as text) as key, {SUMS} from spending where {_OF_JOB}"  # noqa: S608 - ours
        " group by number",
        {"job": job_id, "now": now},
    )
    return {int(row["key"]): records.from_row(row, Used) for row in rows}


def used_by_jobs(
    database: Database, chosen: str, values: Mapping[str, Any]
) -> tuple[Used, Mapping[str, Used], Mapping[tuple[int, int], float]]:
    """Return what the attempts of some jobs have used: in all, by task, and each one's money.

    `chosen` is a query of ours for the jobs' numbers, with its `values` and the time `now`.
    """
    where = f"job_id in ({chosen})"
    total = _sum(database, where, **values)
    rows = database.rows(
        f"select task_id as key, {SUMS} from spending where {where} group by 1",  # noqa: S608 - ours
        values,
    )
    money = database.rows(
        f"select job_id, number, usd from spending where {where} and usd is not null",  # noqa: S608
        values,
    )
    by_task = {row["key"]: records.from_row(row, Used) for row in rows}
    return total, by_task, {(row["job_id"], row["number"]): row["usd"] for row in money}


_OF_JOB = "job_id = :job"
_KEYS = {
    By.TASK: "task_id",
    By.AGENT: "agent",
    By.EXECUTOR: "executor",
    By.BATCH: "coalesce(cast(batch as text), '')",
    By.MODEL: "model",
    By.DAY: "coalesce(strftime("
    "'%Y-%m-%d', coalesce(ended_at, :now), 'unixepoch', 'localtime'), '')",
}
_TOKENS = "cast(json_extract(its, '$.tokens.{}') as bigint)"
_BY_MODEL = f"""(
    select project_id, began_at, ended_at, is_partial,
        coalesce(nullif(name, ''), 'unknown') as model,
        iif(name is null, input, coalesce({_TOKENS.format("input")}, 0)) as input,
        iif(name is null, output, {_TOKENS.format("output")}) as output,
        iif(name is null, cache_read, {_TOKENS.format("cache_read")}) as cache_read,
        iif(name is null, cache_write, {_TOKENS.format("cache_write")}) as cache_write,
        iif(name is null, usd, cast(json_extract(its, '$.usd') as double precision)) as usd,
        iif(name is null, is_estimate, cast(json_extract(its, '$.is_estimate') as boolean))
            as is_estimate,
        iif(name is null, is_unpriced, json_extract(its, '$.usd') is null) as is_unpriced
    from (
        select spending.*, each.key as name, each.value as its from spending
        left join json_each(iif(json_valid(models), models, '{{}}')) as each on true
    ) as of_model
) as spending"""  # noqa: S608 - words of ours
"""A row for each model of an attempt, and one for an attempt that tells of none."""
SUMS = """
    count(*) as runs,
    count(*) - count(ended_at) as running,
    total(max(0, coalesce(ended_at, :now) - began_at)) as seconds,
    coalesce(sum(input), 0) as input,
    coalesce(sum(iif(input is null, 0, output)), 0) as output,
    coalesce(sum(iif(input is null, 0, cache_read)), 0) as cache_read,
    coalesce(sum(iif(input is null, 0, cache_write)), 0) as cache_write,
    sum(usd) as usd,
    total(iif(is_estimate, usd, 0)) as estimated_usd,
    coalesce(sum(ended_at is not null and input is null), 0) as runs_without_tokens,
    coalesce(sum(ended_at is not null and is_unpriced), 0) as runs_without_cost,
    coalesce(sum(ended_at is not null and is_partial and input is not null), 0) as runs_cut_off
"""


def _sum(database: Database, where: str, **values: Any) -> Used:
    (row,) = database.rows(f"select '' as key, {SUMS} from spending where {where}", values)  # noqa: S608 - ours
    return records.from_row(row, Used)


def is_open(database: Database, job_id: JobId) -> bool:
    """Whether anything is on record of a job's attempts that has no end yet."""
    sql = (
        "select exists (select 1 from attempt"
        " where job_id = ? and (cause is null or ended_at is null))"
        " or exists (select 1 from spending where job_id = ? and ended_at is null)"
    )
    return bool(database.value(sql, (job_id, job_id)))


def close_attempt(
    database: Database, job_id: JobId, cause: "Cause", reason: str, *, now: float
) -> None:
    """Record how a job's attempt ended, unless that is on record; in the job's last transaction.

    A row without an end counts as an agent that runs, and keeps its share of what is limited. What
    is on record of its end stays. Where nothing is, nobody can tell that its CLI has not kept the
    session: it counts as kept.
    """
    words = records.to_columns({"cause": cause, "reason": reason})
    database.run(
        "update attempt set cause = coalesce(cause, :cause), ended_at = coalesce(ended_at, :now),"
        " reason = iif(cause is null, :reason, reason),"
        " transcript_seen = transcript_seen or cause is null and ended_at is null"
        " where job_id = :job and (cause is null or ended_at is null)",
        {**words, "now": now, "job": job_id},
    )
    close(database, job_id, now=now)
