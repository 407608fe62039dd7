"""`sow agent wait`."""

from contextlib import closing

import click

from sow.calls.ancestry import refuse_waiting_on_ancestor
from sow.calls.autostart import Staffing
from sow.calls.caller import Caller
from sow.calls.request import Placed
from sow.calls.wait import Detached, Waiter
from sow.cli import completing
from sow.cli.arguments import ids_option, named_tasks
from sow.cli.calling import this_caller, wait_for
from sow.cli.detaching import detaching_signals, naming_tasks, say_detached
from sow.cli.last_job import find_last_job
from sow.cli.output import json_option
from sow.cli.wait_options import WaitOptions, bound_of, wait_option
from sow.ids import JobId, TaskId
from sow.jobs import waiters
from sow.jobs.database import Database, open_queue


@click.command()
@click.argument("tasks", metavar="[TASK]...", nargs=-1, shell_complete=completing.tasks)
@ids_option
@click.option("--any", "any_one", is_flag=True, help="Return when one of them has ended.")
@click.option("--all", "all_of_them", is_flag=True, help="Wait for all of them (the default).")
@wait_option
@json_option
def wait(
    tasks: tuple[str, ...],
    task_options: tuple[str, ...],
    any_one: bool,
    all_of_them: bool,
    wait: str | None,
    as_json: bool,
) -> int:
    """Wait for the job of each TASK and print how it ended.

    A job that has ended already is printed at once. Exit: 75 if any still
    runs, else 1 if any failed, else 7 if any was cancelled, else 0; of one
    task, the exit code of its own outcome.
    """
    if any_one and all_of_them:
        raise click.UsageError("--any and --all exclude each other")
    caller = this_caller()
    options = WaitOptions(as_json=as_json, any_one=any_one, wait=wait, strikes_all=True)
    bound = bound_of(options, caller)
    task_ids = named_tasks(tasks, task_options, caller.environ)
    database = open_queue(caller.workspace)
    told: set[JobId] = set()
    with detaching_signals(), closing(database), naming_tasks(caller, database, task_ids):
        try:
            placed = [_find(caller, database, task_id) for task_id in task_ids]
            staffing = Staffing(caller, caller.load_configuration(), database)
            with Waiter(caller, database) as waiter:
                return wait_for(waiter, staffing, placed, options, bound, told)
        except (KeyboardInterrupt, Detached):
            return say_detached(caller, database, task_ids, options, told)


def _find(caller: Caller, database: Database, task_id: TaskId) -> Placed:
    """Return the newest job of a task."""
    job = find_last_job(caller.workspace, database, task_id)
    refuse_waiting_on_ancestor(caller, database, job)
    owed = job.state.is_final and waiters.is_owed(database, caller.workspace, job.id)
    return Placed(job, owed=owed)
