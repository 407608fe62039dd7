"""`sow job cancel`."""

import click

from sow.cli import completing
from sow.cli.cancelling import cancel_and_wait, keep_children_option, with_batches_option
from sow.cli.job_record import find_job
from sow.cli.output import json_option
from sow.cli.this_caller import this_caller


@click.command()
@click.argument("job_id", metavar="JOB", shell_complete=completing.active_jobs)
@keep_children_option
@with_batches_option
@json_option
def cancel(job_id: str, keep_children: bool, with_batches: bool, as_json: bool) -> int:
    """End JOB: at once if it waits, with its whole process tree if it runs.

    Waits up to a minute for its end. The same as `sow agent cancel`, for a
    job by its number; also for one of a project that is not checked out,
    whose task is given back when it is.
    Exit 0 when it is cancelled, 4 when it has ended or its agent has reported.
    """
    caller = this_caller()
    return cancel_and_wait(
        caller,
        lambda database: find_job(database, job_id),
        keep_children=keep_children,
        with_batches=with_batches,
        as_json=as_json,
    )
