"""`sow job wait`, `retry` and `resolve`."""

from contextlib import closing

from msgspec.structs import replace

from sow.calls.call import CallProgress
from sow.cli import completing
from sow.cli import late_click as click
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
    the project, which has no task, and for an older job of a task. The result of
    an ended job is printed at once. An unknown job is refused; the command still
    waits for the others.

    Exit: as for `sow agent wait`.
    """
    numbers = list(dict.fromkeys(map(job_id_of, job_ids)))
    options = replace(options, any_one=any_one, names_jobs=True, strikes_all=True)
    return wait_for(this_caller(), CallProgress([], job_ids=numbers), options)


@click.command()
@click.argument("job_id", metavar="JOB", shell_complete=completing.jobs)
@click.option("--fresh", is_flag=True, help="Start again with a new session, if it had one.")
@priority_option
@call_options()
def retry(job_id: str, fresh: bool, priority: int | None, options: WaitOptions) -> int:
    """Run JOB, which has ended, again: the same verb and text, as a new job.

    Refused if the task has a newer job, or has changed since the job ended. The
    other rules are the same as always: for example, a task whose session has
    started cannot be spawned.

    Exit: as for the command that queued the job.
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

    This is needed if the agent ran in another pid namespace, such as a removed
    container: sow never assumes that it is dead, and never signals it. With
    --gone a worker continues as after a crash. First make sure that the agent no
    longer runs: two agents would damage their common session.

    Exit: 4 if sow can see by itself whether the agent runs.
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
            click.echo(f"Job {job.id} counts as ended; a worker continues from there.")
