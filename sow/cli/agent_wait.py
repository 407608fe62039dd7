"""`sow agent wait`."""

from contextlib import closing

import click

from sow.cli import completing
from sow.cli.arguments import ids_option, named_tasks
from sow.cli.calling import (
    WaitOptions,
    bound_of,
    detaching_signals,
    naming_tasks,
    say_detached,
    this_caller,
    wait_for,
    wait_option,
)
from sow.cli.output import json_option
from sow.errors import StateError
from sow.ids import ProjectId, TaskId
from sow.jobs import jobs, waiters
from sow.jobs.database import Database, open_queue
from sow.sessions.ancestry import refuse_waiting_on_ancestor
from sow.sessions.caller import Caller
from sow.sessions.request import Placed
from sow.sessions.staffing import Staffing
from sow.sessions.wait import Detached, Waiter
from sow.state.projects import read_project
from sow.state.tasks import find_task


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
    options = WaitOptions(as_json=as_json, any_one=any_one, wait=wait)
    bound = bound_of(options, caller)
    task_ids = named_tasks(tasks, task_options, caller.environ)
    database = open_queue(caller.workspace)
    with detaching_signals(), closing(database), naming_tasks(task_ids):
        try:
            placed = [_find(caller, database, task_id) for task_id in task_ids]
            staffing = Staffing(caller, caller.load_configuration(), database)
            with Waiter(caller, database) as waiter:
                return wait_for(waiter, staffing, placed, options, bound)
        except (KeyboardInterrupt, Detached):
            return say_detached(task_ids)


def _find(caller: Caller, database: Database, task_id: TaskId) -> Placed:
    """Return the newest job of a task."""
    find_task(caller.workspace, task_id)
    project_id = ProjectId(read_project(caller.workspace).id)
    job = jobs.last_job(database, project_id, task_id)
    if job is None:
        raise StateError(
            f"task {task_id} has no job to wait for",
            hint=f"`sow agent spawn <agent> {task_id}` queues one.",
        )
    refuse_waiting_on_ancestor(caller, database, job)
    owed = job.state.is_final and waiters.is_owed(database, caller.workspace, job.id)
    return Placed(job, owed=owed)
