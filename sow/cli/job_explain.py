"""`sow job explain`."""

import click

from sow.cli.arguments import here
from sow.cli.job_record import find_job, open_jobs
from sow.cli.output import echo_json, json_option
from sow.clock import utc_now
from sow.jobs import jobs
from sow.sessions.doubt import is_in_doubt
from sow.sessions.explain import explain as explain_job


@click.command()
@click.argument("job_id", metavar="JOB")
@json_option
def explain(job_id: str, as_json: bool) -> None:
    """Tell in words what happened to JOB, attempt by attempt, and what happens next."""
    workspace = here()
    database = open_jobs(workspace)
    job = find_job(database, job_id)
    assert database is not None  # noqa: S101 - a job was found in it
    doubt = is_in_doubt(workspace, database, job)
    attempts = jobs.attempts(database, job.id)
    lines = explain_job(job, attempts, now=utc_now(), in_doubt=doubt)
    if as_json:
        echo_json({"job": job.id, "state": job.state.value, "story": lines})
    else:
        click.echo("\n".join(lines))
