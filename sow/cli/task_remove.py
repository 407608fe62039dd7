"""`sow task remove`."""

import os

import click

from sow.calls.last_job import refuse_after_jobs
from sow.cli import completing
from sow.cli.arguments import here, named_tasks
from sow.cli.failure import for_each
from sow.cli.output import echo_json, json_option
from sow.cli.task_options import ids_option
from sow.paths import Workspace
from sow.schema.output.tasks import RemovedTask
from sow.state.bulk.removing import remove_task


@click.command()
@click.argument("tasks", metavar="[TASK]...", nargs=-1, shell_complete=completing.tasks)
@ids_option
@json_option
def remove(tasks: tuple[str, ...], task_options: tuple[str, ...], as_json: bool) -> int:
    """Remove each TASK, with its folder, if it never ran and no other depends on it.

    A task that has begun is not removed: use `sow task abandon`.
    """
    workspace = here()
    named = named_tasks(tasks, task_options, os.environ)
    return for_each(named, lambda task: _remove(workspace, task, as_json=as_json), as_json=as_json)


def _remove(workspace: Workspace, task_id: str, *, as_json: bool) -> None:
    gone = remove_task(workspace, task_id, lambda task: refuse_after_jobs(workspace, task))
    if as_json:
        echo_json(RemovedTask(task=gone.id, name=gone.name))
    else:
        click.echo(f"Task {gone.id} removed: {gone.name}")
