"""`sow task output` and `sow task explain`: how a task's last job was run, by the task's id."""

import os
from contextlib import closing

import click

from sow.calls.last_job import open_last_job
from sow.cli import completing
from sow.cli.arguments import here, named_task
from sow.cli.attempt_logs import LogOptions
from sow.cli.job_explain import tell_story
from sow.cli.job_logs import log_options, print_logs
from sow.cli.output import json_option
from sow.cli.task_options import id_option
from sow.ids import parse_task_id


@click.command()
@click.argument("task", required=False, shell_complete=completing.tasks)
@id_option
@log_options
def output(task: str | None, task_option: str | None, options: LogOptions) -> None:
    """Print what the agent of TASK said and did in its last job, attempt by attempt.

    Standard error tells last how the job ended, if it has. `sow job logs`
    does the same for a job by its number.
    """
    workspace = here()
    task_id = parse_task_id(named_task(task, task_option, os.environ))
    database, job = open_last_job(workspace, task_id)
    with closing(database):
        print_logs(workspace, database, [job], options)


@click.command()
@click.argument("task", required=False, shell_complete=completing.tasks)
@id_option
@json_option
def explain(task: str | None, task_option: str | None, as_json: bool) -> None:
    """Tell in words what happened to the last job of TASK, and what happens next.

    `sow job explain` does the same for a job by its number.
    """
    workspace = here()
    task_id = parse_task_id(named_task(task, task_option, os.environ))
    database, job = open_last_job(workspace, task_id)
    with closing(database):
        tell_story(workspace, database, job, as_json=as_json)
