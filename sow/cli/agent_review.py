"""`sow agent review`."""

import click

from sow.calls.request import Request
from sow.cli import completing
from sow.cli.arguments import named_tasks, readable
from sow.cli.calling import place_and_wait, this_caller
from sow.cli.output import json_option
from sow.cli.task_options import ids_option
from sow.cli.wait_options import call_options, wait_option
from sow.schema.job import Verb


@click.command("review")
@click.argument("tasks", metavar="[TASK]...", nargs=-1, shell_complete=completing.tasks)
@ids_option
@click.option(
    "--agent", help="The role that reviews (default: reviewer).", shell_complete=completing.roles
)
@click.option("--prompt", default="", help="More words for the reviewer.")
@click.option("--again", is_flag=True, help="Run anew even where an outcome is owed to you.")
@wait_option
@click.option("--detach", is_flag=True, help="Queue it and return at once.")
@json_option
def review_task(
    tasks: tuple[str, ...],
    task_options: tuple[str, ...],
    agent: str | None,
    prompt: str,
    again: bool,
    wait: str | None,
    detach: bool,
    as_json: bool,
) -> int:
    """Have an agent review the work of each TASK, wait, and print its verdict.

    The task keeps its status, and takes no other job meanwhile. With a clone
    of its own, the reviewer works in a throw-away clone of its last commit;
    else in the working tree. `sow review show` has the verdict.

    Exit: 0 for either verdict, 1 without one, 4 refused, 5 executor missing,
    7 cancelled, 75 still running, 130 interrupted (the job goes on).
    """
    caller = this_caller()
    requests = [
        Request(
            verb=Verb.REVIEW, task_id=task_id, agent=agent, prompt=readable(prompt), again=again
        )
        for task_id in named_tasks(tasks, task_options, caller.environ)
    ]
    return place_and_wait(caller, requests, call_options(as_json=as_json, detach=detach, wait=wait))
