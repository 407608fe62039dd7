"""`sow agent cancel`."""

import click

from sow.cli import completing
from sow.cli.arguments import all_or_named
from sow.cli.cancelling import cancel_tasks, keep_children_option, with_batches_option
from sow.cli.output import json_option
from sow.cli.task_options import ids_option
from sow.cli.this_caller import this_caller


@click.command()
@click.argument("tasks", metavar="[TASK]...", nargs=-1, shell_complete=completing.tasks)
@ids_option
@click.option(
    "--all",
    "all_live",
    is_flag=True,
    help="Every task of the project with a live job, and the project itself.",
)
@keep_children_option
@with_batches_option
@json_option
def cancel(
    tasks: tuple[str, ...],
    task_options: tuple[str, ...],
    all_live: bool,
    keep_children: bool,
    with_batches: bool,
    as_json: bool,
) -> int:
    """End the job of each TASK: at once if it waits, with its whole process tree if it runs.

    Waits up to a minute for each to end. The task is left paused, or as it
    was if the agent never ran. The jobs that its agent has queued are ended
    with it, and theirs, each named; not a session that somebody has open on
    a terminal. A batch that it has made goes on, unless --with-batches ends it. Exit 0 when all are
    cancelled, 4 when there is nothing to cancel or the agent has reported.
    """
    caller = this_caller()
    task_ids = all_or_named(caller, tasks, task_options, all_live=all_live, and_project=True)
    return cancel_tasks(
        caller, task_ids, keep_children=keep_children, with_batches=with_batches, as_json=as_json
    )
