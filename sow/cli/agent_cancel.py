"""`sow agent cancel`."""

import click

from sow.calls.cancel import job_to_cancel
from sow.cli import completing
from sow.cli.arguments import id_option, named_task
from sow.cli.calling import this_caller
from sow.cli.cancelling import cancel_and_wait, keep_children_option
from sow.cli.output import json_option
from sow.ids import parse_task_id


@click.command()
@click.argument("task", required=False, shell_complete=completing.tasks)
@id_option
@keep_children_option
@json_option
def cancel(task: str | None, task_option: str | None, keep_children: bool, as_json: bool) -> int:
    """End the job of TASK: at once if it waits, with its whole process tree if it runs.

    The task is left paused, or as it was if the agent never ran. The jobs
    that its agent has queued are ended with it, and theirs, each named; not
    a session that somebody has open on a terminal. Exit 0 when it is
    cancelled, 4 when there is nothing to cancel or the agent has reported.
    """
    caller = this_caller()
    task_id = parse_task_id(named_task(task, task_option, caller.environ))
    return cancel_and_wait(
        caller,
        lambda database: job_to_cancel(caller, database, task_id),
        keep_children=keep_children,
        as_json=as_json,
    )
