"""`sow job retry`."""

from contextlib import closing

import click
from msgspec.structs import replace

from sow.calls.retrying import request_again
from sow.cli import completing
from sow.cli.call_options import WaitOptions, call_options
from sow.cli.calling import place_and_wait
from sow.cli.job_record import find_job
from sow.cli.task_options import priority_option
from sow.cli.this_caller import this_caller
from sow.jobs.database import open_queue


@click.command()
@click.argument("job_id", metavar="JOB", shell_complete=completing.jobs)
@click.option("--fresh", is_flag=True, help="Start again with a new session, if it had one.")
@priority_option
@call_options()
def retry(job_id: str, fresh: bool, priority: int | None, options: WaitOptions) -> int:
    """Run JOB, which has ended, again: the same verb and text, as a new job.

    Refused where its task has moved on: another job came after it, or the task
    no longer stands as the job left it. What the task itself does not allow, such
    as a spawn where a session has started, is refused as ever.

    Exit: as of the command that placed the job.
    """
    caller = this_caller()
    with closing(open_queue(caller.workspace)) as database:
        job = find_job(database, job_id)
        request = request_again(caller, database, job, fresh=fresh, priority=priority)
    options = replace(options, names_jobs=not request.task_id)
    return place_and_wait(caller, [request], options)
