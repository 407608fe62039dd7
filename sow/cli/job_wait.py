"""`sow job wait`."""

import click

from sow.cli import completing
from sow.cli.calling import wait_for_numbers
from sow.cli.job_record import job_id_of
from sow.cli.output import json_option
from sow.cli.this_caller import this_caller
from sow.cli.wait_options import WaitOptions, wait_option


@click.command()
@click.argument(
    "job_ids", metavar="JOB...", nargs=-1, required=True, shell_complete=completing.jobs
)
@click.option("--any", "any_one", is_flag=True, help="Return when one of them has ended.")
@wait_option
@json_option
def wait(job_ids: tuple[str, ...], any_one: bool, wait: str | None, as_json: bool) -> int:
    """Wait for each JOB and print how it ended, whatever kind of job it is.

    The same as `sow agent wait`, for jobs by their numbers: also for a check of
    the project, which is no task's, and for a job that is not its task's last.
    A job that has ended already is printed at once. Of several, one that is on no
    record is refused, and the others are waited for.

    Exit: as of `sow agent wait`.
    """
    numbers = list(dict.fromkeys(map(job_id_of, job_ids)))
    options = WaitOptions(
        as_json=as_json, any_one=any_one, wait=wait, names_jobs=True, strikes_all=True
    )
    return wait_for_numbers(this_caller(), numbers, options)
