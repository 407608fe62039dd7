"""`sow job show`."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import click

from sow.cli import completing
from sow.cli.arguments import here
from sow.cli.job_record import (
    attempt_record,
    echo_facts,
    find_job,
    job_record,
    note_on,
    open_jobs,
    took,
)
from sow.cli.output import echo_json, json_option
from sow.cli.shown import outcome_is_shown
from sow.clock import utc_now
from sow.jobs import jobs
from sow.jobs.unverifiable import is_in_doubt
from sow.schema.job import Job


@click.command()
@click.argument("job_id", metavar="JOB", shell_complete=completing.jobs)
@json_option
def show(job_id: str, as_json: bool) -> None:
    """Show JOB: what was asked for, each attempt, and how it ended."""
    workspace = here()
    database = open_jobs(workspace)
    job = find_job(database, job_id)
    assert database is not None  # noqa: S101 - a job was found in it
    now = utc_now()
    doubt = is_in_doubt(workspace, database, job)
    record = job_record(workspace, job, now, in_doubt=doubt)
    attempts = [attempt_record(workspace, one) for one in jobs.attempts(database, job.id)]
    if as_json:
        echo_json({**record, "attempts": attempts})
    else:
        _print(job, record, attempts, note=note_on(workspace, job, now, in_doubt=doubt), now=now)
    outcome_is_shown(workspace, database, job)


def _print(
    job: Job,
    record: Mapping[str, Any],
    attempts: Sequence[Mapping[str, Any]],
    *,
    note: str,
    now: float,
) -> None:
    echo_facts(
        [
            (
                "job",
                f"{job.id} ({job.verb} {job.agent} for task {job.task_id} by {job.executor.name})",
            ),
            ("state", job.state.value),
            ("note", note),
            ("status", record["status"]),
            ("cause", record["cause"]),
            ("took", took(job, now)),
            ("cost", f"${job.cost_usd:.4f}" if job.cost_usd is not None else None),
            ("denied tools", ", ".join(job.denied_tools)),
            ("called by", f"job {job.parent}" if job.parent else None),
            ("prompt", job.prompt.strip()),
            ("queued", record["created_at"]),
            ("ended", record["ended_at"]),
        ]
    )
    for attempt in attempts:
        click.echo(f"\nattempt {attempt['attempt']}")
        echo_facts(
            [
                ("  verb", attempt["verb"]),
                ("  command", shlex.join(attempt["argv"])),
                ("  session", attempt["session_id"]),
                ("  supervisor", attempt["pid"]),
                ("  cause", attempt["cause"]),
                ("  reason", attempt["reason"]),
                ("  exit", _exit(attempt["exit_code"], attempt["exit_signal"])),
                ("  tool calls", attempt["tool_uses"]),
                (
                    "  cpu",
                    f"{attempt['cpu_seconds']} s" if attempt["cpu_seconds"] is not None else None,
                ),
                ("  files", attempt["folder"]),
            ]
        )


def _exit(code: int | None, signal: int | None) -> str | None:
    if signal is not None:
        return f"signal {signal}"
    return None if code is None else f"code {code}"
