"""`sow job resolve`."""

from contextlib import closing

import click

from sow.calls.autostart import NoWorker, Staffing
from sow.calls.declare_gone import declare_gone
from sow.cli import completing
from sow.cli.job_record import find_job
from sow.cli.output import echo_json_lines, json_option
from sow.cli.this_caller import this_caller
from sow.jobs.database import open_queue
from sow.reports.views import read_views


@click.command()
@click.argument("job_id", metavar="JOB", shell_complete=completing.active_jobs)
@click.option(
    "--gone", is_flag=True, required=True, help="Confirm that none of its processes runs."
)
@json_option
def resolve(job_id: str, gone: bool, as_json: bool) -> None:  # noqa: ARG001 - its being there says it
    """Declare that the agent of JOB has ended, if sow cannot find out.

    That is so where the agent ran in another pid namespace, such as a
    container that was removed: sow never calls it dead and never signals it.
    With --gone a worker goes on from what it left, as after any crash. Make
    sure first: two agents on one session spoil it.

    Exit: 4 where there is nothing to decide, for sow can tell by itself.
    """
    caller = this_caller()
    with closing(open_queue(caller.workspace)) as database:
        job = declare_gone(caller, database, find_job(database, job_id))
        try:
            Staffing(caller, caller.load_configuration(), database).ensure()
        except NoWorker as error:
            click.echo(f"Note: {error.message}. {error.hint}", err=True)
        if as_json:
            echo_json_lines(read_views(caller.workspace, database, [job], caller.now()))
        else:
            click.echo(f"Job {job.id} is taken to be gone; a worker goes on from there.")
