"""`sow job wait`."""

import click
from msgspec.structs import replace

from sow.cli import completing
from sow.cli.call_options import WaitOptions, call_options
from sow.cli.calling import wait_for_numbers
from sow.cli.job_record import job_id_of
from sow.cli.this_caller import this_caller


@click.command()
@click.argument(
    "job_ids", metavar="JOB...", nargs=-1, required=True, shell_complete=completing.jobs
)
@click.option("--any", "any_one", is_flag=True, help="Return when one of them has ended.")
@call_options(None)
def wait(job_ids: tuple[str, ...], any_one: bool, options: WaitOptions) -> int:
    """Wait for each JOB and print how it ended, whatever kind of job it is.

    The same as `sow agent wait`, for jobs by their numbers: also for a check of
    the project, which is no task's, and for a job that is not its task's last.
    A job that has ended already is printed at once. Of several, one that is on no
    record is refused, and the others are waited for.

    Exit: as of `sow agent wait`.
    """
    numbers = list(dict.fromkeys(map(job_id_of, job_ids)))
    options = replace(options, any_one=any_one, names_jobs=True, strikes_all=True)
    return wait_for_numbers(this_caller(), numbers, options)
