"""`sow agent spawn`."""

from pathlib import Path
from typing import Any

from sow.agents.roles import UnknownAgent, get_agent
from sow.calls.request import Request
from sow.cli import completing
from sow.cli import late_click as click
from sow.cli.arguments import ids_option, named_tasks, this_caller
from sow.cli.call_options import WaitOptions, start_options
from sow.cli.calling import preview_or_wait
from sow.cli.confirming import before_approval_option, refuse_override_here
from sow.errors import UsageError
from sow.schema.job import Verb
from sow.terminal_text import readable


@click.command(cls=click.LateClass("spawn_help", "SpawnCommand"))
@click.argument(
    "words", metavar="[AGENT] [TASK]...", nargs=-1, shell_complete=completing.role_or_tasks
)
@ids_option
@click.option(
    "--prompt", default="", help=("More instructions for the agent, after the task's own.")
)
@click.option("--fresh", is_flag=True, help="Start again with a new session.")
@click.option("--reassign", is_flag=True, help="Assign a task of another role to AGENT.")
@click.option("--ignore-deps", is_flag=True, help="Run it even if depends_on is not completed.")
@click.option(
    "--when-ready", is_flag=True, help="Queue it now; start it when depends_on is completed."
)
@before_approval_option
@click.option(
    "--cwd", type=click.Path(path_type=Path), help="Where the agent runs (default: the root)."
)
@click.option(
    "--clone/--no-clone",
    default=None,
    help="Run it in a clone of its own, or in the root (default: clones.use).",
)
@start_options
def spawn(
    words: tuple[str, ...],
    task_options: tuple[str, ...],
    prompt: str,
    ignore_deps: bool,
    when_ready: bool,
    before_approval: bool,
    dry_run: bool,
    verbose: bool,
    options: WaitOptions,
    **others: Any,
) -> int:
    """Start AGENT for each TASK, wait, and print each result.

    AGENT is a role, such as implementer. Without it each task runs with its own
    role; another role needs --reassign. If the project has a plan, tasks of the
    plan are refused until `sow approve plan && sow advance`.

    A worker runs the agent, not this command. If this command is killed, nothing
    is lost: run it again to continue waiting.

    Exit: 0 reported (needs_review, paused, completed), 1 failed, 4 refused,
    5 executor missing or without the session, 7 cancelled, 75 still running
    or held, 130 interrupted (the job continues).
    """
    if when_ready and ignore_deps:
        raise UsageError(
            "--when-ready and --ignore-deps are both given", hint="Give only one of them."
        )
    agent, tasks = _split(words)
    caller = this_caller()
    refuse_override_here(caller, before_approval)
    requests = [
        Request(
            verb=Verb.SPAWN,
            task_id=task_id,
            agent=agent,
            prompt=readable(prompt),
            ignore_deps=ignore_deps,
            when_ready=when_ready,
            before_approval=before_approval,
            **others,  # named as the fields are
        )
        for task_id in named_tasks(tasks, task_options, caller.environ)
    ]
    return preview_or_wait(caller, requests, options, dry_run=dry_run, verbose=verbose)


def _split(words: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """Return the role, if the command line names one, and its tasks. Raises UsageError."""
    if not words or words[0].isdecimal():
        return None, words
    try:
        return get_agent(words[0]).name, words[1:]
    except UnknownAgent as error:
        guess = f"Did you mean {error.nearest}? " if error.nearest else ""
        raise UsageError(
            f"unknown agent: {error.name}",
            hint=f"{guess}The first word is an agent (`sow agent list` shows them all) or a "
            "task's id, such as 010.",
        ) from None
