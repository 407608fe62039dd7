"""`sow agent log`: agents call it all the time, so it imports next to nothing."""

import os
import time

from sow import env_vars
from sow.cli import completing
from sow.cli import late_click as click
from sow.cli.arguments import about_tasks, here
from sow.cli.output import echo_json, json_option
from sow.clock import format_time
from sow.errors import UsageError
from sow.state.authors import author_of
from sow.state.log_writing import AGENTS_LIMIT, LOG_FILE, LogEntry, is_full
from sow.state.places import find_task, has_project
from sow.state.state_errors import LogFull, NoProject
from sow.state.task_log import append_entry

DEFAULT_AGENT = "orchestrator"


@click.command()
@click.argument("text")
@click.option(
    "--task",
    "--id",
    "task",
    help=f"Default: {env_vars.TASK_ID}, else the project's log.",
    shell_complete=completing.tasks,
)
@click.option(
    "--agent",
    help=f"Who did it. Default: {env_vars.AGENT}, else {DEFAULT_AGENT}.",
    shell_complete=completing.roles,
)
@click.option("--result", default="", help="How it ended: success, failure, or another word.")
@click.option(
    "--file",
    "files",
    shell_complete=completing.files,
    multiple=True,
    help="A file it touched; repeat it.",
)
@click.option("--body", default="", help="More about it, in Markdown.")
@json_option
def log(
    *,
    text: str,
    task: str | None,
    agent: str | None,
    result: str,
    files: tuple[str, ...],
    body: str,
    as_json: bool,
) -> None:
    """Append TEXT, what was done, to the log of your task."""
    if not text.strip():
        raise UsageError("there is nothing to log", hint='For example: sow agent log "Added it"')
    workspace = here()
    task_id = task or os.environ.get(env_vars.TASK_ID)
    about_tasks(*([task_id] if task_id else []))
    if not task_id and not has_project(workspace):
        raise NoProject(workspace.project)
    folder = find_task(workspace, task_id).folder if task_id else workspace.project
    if is_full(folder):
        raise LogFull(folder / LOG_FILE, AGENTS_LIMIT)
    author = author_of(os.environ, DEFAULT_AGENT)
    entry = LogEntry(
        timestamp=format_time(time.time()),
        agent=agent or author.agent,
        action=text,
        result=result,
        files=files,
        text=body,
        job=author.job,
        attempt=author.attempt,
        id=author.entry_id,
    )
    path = append_entry(folder, entry)
    if as_json:
        echo_json({"path": os.path.relpath(path, workspace.root), "task": task_id})
    elif not task_id:
        click.echo(f"No task is named: written to the project's log, {os.path.relpath(path)}")
