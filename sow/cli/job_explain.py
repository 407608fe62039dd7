"""`sow job explain` and `sow task explain`: what happened to a job, by its number or its task."""

import os
from contextlib import closing

import click

from sow.calls.last_job import open_last_job
from sow.cli import completing
from sow.cli.arguments import here, named_task
from sow.cli.job_record import find_job, open_jobs, outcome_is_shown
from sow.cli.output import echo_json, json_option
from sow.cli.task_options import id_option
from sow.clock import Times, utc_now
from sow.ids import parse_task_id
from sow.jobs import jobs
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.reports.explain import explain as explain_job
from sow.reports.prospects import look_around
from sow.reports.views import job_story, seen_in
from sow.schema.job import Job


@click.command()
@click.argument("job_id", metavar="JOB", shell_complete=completing.jobs)
@json_option
def explain(job_id: str, as_json: bool) -> None:
    """Explain what happened to JOB, attempt by attempt, and what happens next."""
    workspace = here()
    database = open_jobs(workspace)
    job = find_job(database, job_id)
    assert database is not None  # noqa: S101 - a job was found in it
    _print_story(workspace, database, job, as_json=as_json)


@click.command()
@click.argument("task", required=False, shell_complete=completing.tasks)
@id_option
@json_option
def explain_task(task: str | None, task_option: str | None, as_json: bool) -> None:
    """Explain what happened to the last job of TASK, and what happens next.

    `sow job explain` does the same for a job by its number.
    """
    workspace = here()
    task_id = parse_task_id(named_task(task, task_option, os.environ))
    database, job = open_last_job(workspace, task_id)
    with closing(database):
        _print_story(workspace, database, job, as_json=as_json)


def _print_story(workspace: Workspace, database: Database, job: Job, *, as_json: bool) -> None:
    """Print what happened to a job and what happens next; its outcome is shown by that."""
    now = utc_now()
    attempts = jobs.attempts(database, job.id)
    around = look_around(workspace, database, job, now=now)
    lines = explain_job(job, attempts, around, Times(now, in_utc=as_json))
    if as_json:
        echo_json(job_story(job, attempts, seen_in(job, around, now), lines))
    else:
        click.echo("\n".join(lines))
    outcome_is_shown(workspace, database, job)
