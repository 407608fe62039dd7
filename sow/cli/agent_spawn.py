"""`sow agent spawn`."""

from pathlib import Path

import click

from sow.agents.roles import get_agent
from sow.cli import completing
from sow.cli.arguments import ids_option, named_tasks, readable
from sow.cli.calling import WaitOptions, call, this_caller, wait_option
from sow.cli.output import json_option
from sow.schema.job import Verb
from sow.sessions.request import Request


class SpawnCommand(click.Command):
    """A command whose help ends with the platform's own path of the configuration."""

    def format_epilog(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the path last, and never break it over lines: it is there to be copied."""
        import os

        from sow.paths import display_path, user_config_path

        path = display_path(user_config_path(os.environ))
        formatter.write_paragraph()
        with formatter.indentation():
            indent = " " * formatter.current_indent
            formatter.write(f"{indent}Agent selection uses configuration from {path}\n")
            formatter.write(f"{indent}Run 'sow config init' to create a configuration file.\n")
            formatter.write(f"{indent}Run 'sow config path' to see the full path.\n")


@click.command(cls=SpawnCommand)
@click.argument("agent", shell_complete=completing.roles)
@click.argument("tasks", metavar="[TASK]...", nargs=-1, shell_complete=completing.tasks)
@ids_option
@click.option("--prompt", default="", help="More words for the agent, after the task's own.")
@click.option("--fresh", is_flag=True, help="Start over with a new session.")
@click.option("--again", is_flag=True, help="Run anew even where an outcome is owed to you.")
@click.option("--ignore-deps", is_flag=True, help="Do not wait for depends_on.")
@click.option(
    "--cwd", type=click.Path(path_type=Path), help="Where the agent runs (default: the root)."
)
@wait_option
@click.option("--detach", is_flag=True, help="Queue it and return at once.")
@click.option("--dry-run", is_flag=True, help="Show what would be started; start nothing.")
@click.option("-v", "--verbose", is_flag=True, help="Show how the executor was chosen.")
@json_option
def spawn(
    agent: str,
    tasks: tuple[str, ...],
    task_options: tuple[str, ...],
    prompt: str,
    fresh: bool,
    again: bool,
    ignore_deps: bool,
    cwd: Path | None,
    wait: str | None,
    detach: bool,
    dry_run: bool,
    verbose: bool,
    as_json: bool,
) -> int:
    """Spawn AGENT for each TASK, wait, and print how each ended.

    The agent runs below a worker, not below this command: a call that is
    killed loses nothing, and the same call again goes on waiting.

    Exit: 0 reported (needs_review, paused, completed), 1 failed, 5 executor
    missing or without the session, 7 cancelled, 75 still running, 130 detached.
    """
    caller = this_caller()
    requests = [
        Request(
            verb=Verb.SPAWN,
            task_id=task_id,
            agent=get_agent(agent).name,
            prompt=readable(prompt),
            fresh=fresh,
            again=again,
            ignore_deps=ignore_deps,
            cwd=cwd,
        )
        for task_id in named_tasks(tasks, task_options, caller.environ)
    ]
    if verbose or dry_run:
        from sow.cli.preview import show_dry_run, show_resolution

        for request in requests:
            if verbose:
                show_resolution(caller, request)
            if dry_run:
                show_dry_run(caller, request, as_json=as_json)
        if dry_run:
            return 0
    return call(caller, requests, WaitOptions(as_json=as_json, detach=detach, wait=wait))
