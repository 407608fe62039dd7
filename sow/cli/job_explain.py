"""`sow job explain`."""

import click

from sow.cli.arguments import here
from sow.cli.job_record import find_job, open_jobs
from sow.cli.output import echo_json, json_option
from sow.clock import utc_now
from sow.jobs import jobs
from sow.sessions.explain import explain as explain_job


@click.command()
@click.argument("job_id", metavar="JOB")
@json_option
def explain(job_id: str, as_json: bool) -> None:
    """Tell in words what happened to JOB, attempt by attempt, and what happens next."""
    database = open_jobs(here())
    job = find_job(database, job_id)
    assert database is not None  # noqa: S101 - a job was found in it
    lines = explain_job(job, jobs.attempts(database, job.id), now=utc_now())
    if as_json:
        echo_json({"job": job.id, "state": job.state.value, "story": lines})
    else:
        click.echo("\n".join(lines))
