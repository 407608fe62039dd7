"""`sow agent wait`."""

from collections.abc import Sequence
from contextlib import closing

from msgspec.structs import replace

from sow.calls.call import CallProgress
from sow.calls.caller import Caller
from sow.cli import completing
from sow.cli import late_click as click
from sow.cli.arguments import all_or_named, ids_option, this_caller
from sow.cli.call_options import WaitOptions, call_options, since_option
from sow.cli.calling import wait_for
from sow.cli.cursor_wait import wait_since
from sow.cli.this_call import usage_error
from sow.errors import ExitCode
from sow.ids import ProjectId, parse_task_id
from sow.jobs import jobs
from sow.jobs.changes import Filter
from sow.jobs.database import open_queue
from sow.state.projects import read_project


@click.command()
@click.argument("tasks", metavar="[TASK]...", nargs=-1, shell_complete=completing.tasks)
@ids_option
@click.option("--any", "any_one", is_flag=True, help="Return when one of them has ended.")
@click.option(
    "--all",
    "all_of_them",
    is_flag=True,
    help="Wait for all of them (the default); if none is named, for all live jobs of the project.",
)
@since_option
@call_options(None)
def wait(
    tasks: tuple[str, ...],
    task_options: tuple[str, ...],
    any_one: bool,
    all_of_them: bool,
    since: str | None,
    options: WaitOptions,
) -> int:
    """Wait for the job of each TASK and print how it ended.

    The result of an ended job is printed at once. A task without a job is
    refused; the command still waits for the others. Exit: 75 if any still runs or
    is held, else 1 if any failed, else 4 if one was refused, else 7 if any was
    cancelled, else 0; of one task, the exit code of its own outcome.

    With --any --since it returns at the first change after CURSOR instead, of any
    TASK or, without one, of the project. Exit: 75 while a job of them lives, else 0.
    """
    if any_one and all_of_them:
        raise usage_error("--any and --all exclude each other")
    caller = this_caller()
    options = replace(options, any_one=any_one, strikes_all=True)
    if since is not None:
        if not any_one:
            raise usage_error("--since goes with --any: it returns at the first change")
        return _wait_since(caller, since, [*tasks, *task_options], options)
    everything = all_of_them and not (tasks or task_options)
    task_ids = all_or_named(caller, tasks, task_options, all_live=everything)
    return wait_for(caller, CallProgress(task_ids), options) if task_ids else 0


def _wait_since(caller: Caller, since: str, named: Sequence[str], options: WaitOptions) -> int:
    """Wait for the first change of some tasks, or of the project, after a cursor."""
    task_ids = [parse_task_id(task) for task in named]
    project_id = ProjectId(read_project(caller.workspace).id)

    def code() -> int:
        live = jobs.active_jobs(database)
        ours = [job for job in live if job.project_id == project_id]
        goes_on = any(not task_ids or set(job.tasks) & set(task_ids) for job in ours)
        return int(ExitCode.STILL_RUNNING if goes_on else ExitCode.OK)

    with closing(open_queue(caller.workspace)) as database:
        wanted = Filter(project=project_id)
        return wait_since(
            caller, database, since, options, wanted=wanted, tasks=task_ids, code=code
        )
