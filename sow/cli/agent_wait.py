"""`sow agent wait`."""

import click

from sow.cli import completing
from sow.cli.arguments import all_or_named
from sow.cli.calling import this_caller, wait_for
from sow.cli.output import json_option
from sow.cli.task_options import ids_option
from sow.cli.wait_options import WaitOptions, wait_option


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

    A job that has ended already is printed at once. A task without a job is
    refused, and the others are waited for. Exit: 75 if any still runs, else 1
    if any failed, else 4 if one was refused, else 7 if any was cancelled, else
    0; of one task, the exit code of its own outcome.
    """
    if any_one and all_of_them:
        raise click.UsageError("--any and --all exclude each other")
    caller = this_caller()
    options = WaitOptions(as_json=as_json, any_one=any_one, wait=wait, strikes_all=True)
    everything = all_of_them and not (tasks or task_options)
    task_ids = all_or_named(caller, tasks, task_options, all_live=everything)
    return wait_for(caller, task_ids, options) if task_ids else 0
