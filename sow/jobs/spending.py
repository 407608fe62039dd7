"""What attempts have used: a row each, from their start on, which no pruning removes.

Owns the SQL of these rows, and that a job's cost is their sum. How what a run
has used is found out is `sow.attempts.run_usage`.
"""

from collections.abc import Sequence
from typing import Any

from sow.ids import JobId, ProjectId, TaskId
from sow.jobs import records
from sow.jobs.database import Database
from sow.schema.budget import Amounts, Measure
from sow.schema.job import Attempt, Job
from sow.schema.spending import Spending
from sow.schema.usage import RunUsage, Totals


def begin(database: Database, job: Job, attempt: Attempt, share: Amounts) -> None:
    """Put on record that an attempt of an agent begins, with its share of the budgets.

    In the transaction that begins it, after `budgets.lacking`.
    """
    shares = {f"share_{measure}": share.of(measure) for measure in Measure}
    records.insert(database, "spending", {**_first_fields(job, attempt), **shares})


def note(
    database: Database,
    job: Job,
    attempt: Attempt,
    run: RunUsage,
    totals: Totals | None,
    **more: Any,
) -> None:
    """Write what an attempt has used so far, and its job's cost with it, as often as one likes.

    `more` are further fields. An attempt that an older sow has begun gets its row now.
    """
    key = {"job_id": job.id, "number": attempt.number}
    tokens = run.tokens
    fields = {
        "input": tokens.input if tokens else None,
        "output": tokens.output if tokens else None,
        "cache_read": tokens.cache_read if tokens else None,
        "cache_write": tokens.cache_write if tokens else None,
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


def _first_fields(job: Job, attempt: Attempt) -> dict[str, Any]:
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


def totals_before(database: Database, attempt: Attempt, session_id: str | None) -> list[Totals]:
    """Return what the runs of a session have told that began before an attempt."""
    if session_id is None:
        return []
    rows = database.rows(
        "select * from spending where session_id = ? and totals is not null"
        " and (job_id < ? or job_id = ? and number < ?)",
        (session_id, attempt.job_id, attempt.job_id, attempt.number),
    )
    found = [records.from_row(row, Spending) for row in rows]
    return [spending.totals for spending in found if spending.totals is not None]


def share_of(database: Database, job_id: JobId, number: int) -> Amounts:
    """Return what an attempt has reserved."""
    row = database.row(
        "select share_usd, share_tokens, share_time from spending where job_id = ? and number = ?",
        (job_id, number),
    )
    return Amounts(usd=row[0], tokens=row[1], time=row[2]) if row is not None else Amounts()


def of_job(database: Database, job_id: JobId) -> Sequence[Spending]:
    """Return what each attempt of a job has used, first to last."""
    return _read(database, "job_id = ? order by number", job_id)


def of_task(database: Database, project_id: ProjectId, task_id: TaskId) -> Sequence[Spending]:
    """Return what each attempt of a task's jobs has used, whether they are still on record."""
    where = "project_id = ? and task_id = ? order by job_id, number"
    return _read(database, where, project_id, task_id)


def of_project(database: Database, project_id: ProjectId, *, since: float) -> Sequence[Spending]:
    """Return what each attempt of a project has used that ended after a time, or goes on."""
    where = "project_id = ? and coalesce(ended_at, ?) >= ? order by job_id, number"
    return _read(database, where, project_id, since, since)


def _read(database: Database, where: str, *values: Any) -> Sequence[Spending]:
    rows = database.rows(f"select * from spending where {where}", values)  # noqa: S608 - ours
    return [records.from_row(row, Spending) for row in rows]
