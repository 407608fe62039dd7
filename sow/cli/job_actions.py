"""`sow job wait`, `retry` and `resolve`."""

from contextlib import closing

import click
from msgspec.structs import replace

from sow.calls.call import Course
from sow.cli import completing
from sow.cli.arguments import priority_option, this_caller
from sow.cli.call_options import WaitOptions, call_options
from sow.cli.calling import place_and_wait, wait_for
from sow.cli.job_record import find_job, job_id_of
from sow.cli.output import echo_json_lines, json_option
from sow.jobs.database import open_queue
from sow.reports.views import read_views


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
    return wait_for(this_caller(), Course([], job_ids=numbers), options)


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
    # Of this one command.
    from sow.calls.retrying import request_again

    caller = this_caller()
    with closing(open_queue(caller.workspace)) as database:
        job = find_job(database, job_id)
        request = request_again(caller, database, job, fresh=fresh, priority=priority)
    options = replace(options, names_jobs=not request.task_id)
    return place_and_wait(caller, [request], options)


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
    # Of this one command.
    from sow.calls.declare_gone import declare_gone
    from sow.cli.releasing import ensure_worker

    caller = this_caller()
    with closing(open_queue(caller.workspace)) as database:
        job = declare_gone(caller, database, find_job(database, job_id))
        ensure_worker(caller, database)
        if as_json:
            echo_json_lines(read_views(caller.workspace, database, [job], caller.now()))
        else:
            click.echo(f"Job {job.id} is taken to be gone; a worker goes on from there.")
