"""A job as `--json` and the tables show it, and how a command line names one.

Owns the stable keys. Times are ISO 8601, durations seconds. Owns what is a
job's number and what is not: a task's id is never taken for one.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from sow.clock import format_duration, format_time
from sow.errors import UsageError
from sow.ids import TASK_ID_PATTERN, JobId
from sow.jobs import jobs
from sow.jobs.database import Database, open_existing_queue
from sow.jobs.jobs import UnknownJob
from sow.paths import Workspace
from sow.schema.job import Attempt, Job, JobState

JOB_ID_PATTERN = "[1-9][0-9]{0,17}"
"""A number that SQLite can hold. Nothing with a zero in front: so are tasks' ids written."""
TASK_COMMANDS = {
    "show": "sow task show",
    "explain": "sow task explain",
    "logs": "sow task output",
    "cancel": "sow agent cancel",
}
"""The command of tasks for each command of `sow job` that has one."""


def open_jobs(workspace: Workspace) -> Database | None:
    """Open the records; None where nothing was ever queued."""
    return open_existing_queue(workspace)


def find_job(database: Database | None, text: str) -> Job:
    """Return the job that a command names by its number. Raises UsageError, UnknownJob."""
    if not re.fullmatch(JOB_ID_PATTERN, text):
        raise _not_a_job_id(text)
    if database is None:
        raise UnknownJob(JobId(int(text)))
    return jobs.get_job(database, JobId(int(text)))


def _not_a_job_id(text: str) -> UsageError:
    """Return the refusal of what is no job's number; for a task's id, the command of tasks."""
    if text[:1] != "0" or not re.fullmatch(TASK_ID_PATTERN, text):
        return UsageError(f"not a job id: {text!r}", hint="`sow job list` shows the jobs.")
    command = click.get_current_context().info_name or ""
    for_task = (
        f"For the task: `{TASK_COMMANDS[command]} {text}`. " if command in TASK_COMMANDS else ""
    )
    return UsageError(
        f"{text} is written as a task's id; a job's number has no zero in front",
        hint=f"{for_task}`sow job list --task {text}` shows the numbers of its jobs.",
    )


def quiet_seconds(workspace: Workspace, job: Job, now: float) -> float | None:
    """Return how long ago a running job's agent last wrote a line; None if it does not run."""
    if job.state is not JobState.RUNNING:
        return None
    times = [_modified(path) for path in workspace.job(job.id).glob("*/output.jsonl")]
    return max(0.0, now - max(times)) if times else None


def _modified(path: Path) -> float:
    return path.stat().st_mtime


def job_record(
    workspace: Workspace, job: Job, now: float, *, in_doubt: bool = False
) -> dict[str, Any]:
    """Return a job as one object; `in_doubt`: nobody here can tell whether it runs."""
    quiet = quiet_seconds(workspace, job, now)
    waits = job.state in (JobState.BACKOFF, JobState.PARKED)
    return {
        "job": job.id,
        "task": job.task_id,
        "verb": job.verb.value,
        "agent": job.agent,
        "executor": job.executor.name,
        "state": job.state.value,
        "status": job.outcome_status.value if job.outcome_status else None,
        "cause": job.cause.value if job.cause else None,
        "reason": job.reason,
        "priority": job.priority,
        "parent": job.parent,
        "retries": job.retries,
        "retry_at": format_time(job.retry_at) if waits else None,
        "unverifiable": in_doubt,
        "quiet_seconds": round(quiet, 1) if quiet is not None else None,
        "cost_usd": job.cost_usd,
        "denied_tools": list(job.denied_tools),
        "created_at": format_time(job.created_at),
        "started_at": format_time(job.started_at) if job.started_at else None,
        "ended_at": format_time(job.ended_at) if job.ended_at else None,
    }


def attempt_record(workspace: Workspace, attempt: Attempt) -> dict[str, Any]:
    """Return an attempt as one object."""
    return {
        "attempt": attempt.number,
        "id": attempt.id,
        "verb": attempt.verb.value,
        "worker": attempt.worker_id,
        "argv": list(attempt.argv),
        "pid": attempt.supervisor.pid if attempt.supervisor else None,
        "session_id": attempt.session_id,
        "cause": attempt.cause.value if attempt.cause else None,
        "reason": attempt.reason,
        "exit_code": attempt.exit_code,
        "exit_signal": attempt.exit_signal,
        "tool_uses": attempt.tool_uses,
        "cpu_seconds": attempt.cpu_seconds,
        "max_rss_kb": attempt.max_rss_kb,
        "started_at": format_time(attempt.started_at) if attempt.started_at else None,
        "ended_at": format_time(attempt.ended_at) if attempt.ended_at else None,
        "folder": str(workspace.attempt(attempt.job_id, attempt.number).folder),
    }


def took(job: Job, now: float) -> str:
    """Return how long a job has run or has taken, for people."""
    if job.started_at is None:
        return "-"
    return format_duration((job.ended_at or now) - job.started_at)


def note_on(workspace: Workspace, job: Job, now: float, *, in_doubt: bool = False) -> str:
    """Return the one thing more that a person wants to know of a job."""
    if in_doubt:
        return f"unverifiable: see `sow job explain {job.id}`"
    if job.state in (JobState.BACKOFF, JobState.PARKED):
        return f"again at {format_time(job.retry_at)}: {_first_line(job.reason)}"
    if job.state is JobState.RUNNING:
        quiet = quiet_seconds(workspace, job, now)
        return f"quiet {format_duration(quiet)}" if quiet is not None else "starting"
    if job.state in (JobState.FAILED, JobState.CANCELLED):
        return _first_line(job.reason)
    return ""


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0] if lines else ""


def echo_facts(facts: Sequence[tuple[str, object]]) -> None:
    """Print names and values, a pair a line, the values aligned; empty ones left out."""
    shown = [(name, value) for name, value in facts if value not in (None, "", [], ())]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        click.echo(f"{name:<{width}}  {value}")
