"""What commands take from the command line and the environment alike.

Owns how a task is named (argument, `--id`, SOW_TASK_ID) and that errors can name it
too, where the workspace is looked for, and how a text is read that stands in a file or on
standard input: a pipe is waited for, since the caller has named it.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sow import env_vars
from sow.cli import completing
from sow.cli import late_click as click
from sow.cli.this_call import this_call
from sow.errors import StateError, UsageError
from sow.ids import TaskId, parse_task_id
from sow.paths import Workspace
from sow.state.kept.lost import find_or_bring_back

if TYPE_CHECKING:
    from sow.calls.caller import Caller

F = TypeVar("F", bound=Callable[..., Any])

GIVEN_LIMIT = 16 << 20
"""In bytes; far more than any agent's CLI takes."""
MOST_PRIORITY = 1000
"""As `sow.schema.task` has it, which agents' commands need not import."""


def id_option(function: F) -> F:
    """Give a command `--id`, passed to it as `task_option`."""
    return click.option(
        "--id",
        "task_option",
        metavar="TASK",
        help="The task's id, such as 010.",
        shell_complete=completing.tasks,
    )(function)


def ids_option(function: F) -> F:
    """Give a command of several tasks `--id`, passed to it as `task_options`."""
    return click.option(
        "--id",
        "task_options",
        metavar="TASK",
        multiple=True,
        help="A task's id; may be repeated.",
        shell_complete=completing.tasks,
    )(function)


def task_argument(function: F) -> Callable[..., Any]:
    """Give a command `[TASK]` and `--id`; it gets the task meant as `task_id` (`named_task`)."""

    @wraps(function)
    def with_task(*, task: str | None, task_option: str | None, **others: Any) -> Any:
        meant = named_task(task, task_option, os.environ)
        return function(task_id=parse_task_id(meant), **others)

    argument = click.argument("task", required=False, shell_complete=completing.tasks)
    return argument(id_option(with_task))


def priority_option(function: F) -> F:
    """Give a command `--priority`: of the jobs that may run, the highest begins first."""
    return click.option(
        "--priority",
        type=click.IntRange(-MOST_PRIORITY, MOST_PRIORITY),
        metavar="N",
        help="Start before jobs of a lower priority (default: the task's, else 0).",
    )(function)


def issue_options(function: F) -> F:
    """Give a command `--from-issue` and `--repo`, passed to it as `issue` and `repository`."""
    words = "A GitHub issue (number or address): its title, and its text quoted."
    issue = click.option("--from-issue", "issue", metavar="ISSUE", help=words)
    return issue(
        click.option(
            "--repo", "repository", metavar="OWNER/NAME", help="The repository of that issue."
        )(function)
    )


def here() -> Workspace:
    """Return the workspace of the working folder. Raises StateError."""
    return find_or_bring_back(working_folder(), os.environ)


def this_caller() -> "Caller":
    """Return the surroundings of this process's call. Raises StateError without a workspace."""
    # An agent that logs or sets its status needs none of it.
    from sow.calls.caller import find_caller

    return find_caller(os.environ, working_folder())


def working_folder() -> Path:
    """Return the working folder. Raises StateError if it is gone."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise StateError(
            "the working folder no longer exists", hint="Change to a folder that does."
        ) from None


def about_tasks(*task_ids: str) -> None:
    """Tell whoever shows an error of this call which tasks it is about (`sow.cli.root`)."""
    this_call().about.update(task_ids)


def named_task(argument: str | None, option: str | None, environ: Mapping[str, str]) -> str:
    """Return the task meant: the argument, else `--id`, else SOW_TASK_ID. Raises UsageError."""
    if argument and option and argument != option:
        raise UsageError(f"two tasks are named: {argument} and {option}", hint="Give it only once.")
    task_id = argument or option or environ.get(env_vars.TASK_ID)
    if not task_id:
        raise UsageError(
            "no task is named", hint=f"Give its id, such as 010, or set {env_vars.TASK_ID}."
        )
    about_tasks(task_id)
    return task_id


def named_tasks(
    arguments: Sequence[str], options: Sequence[str], environ: Mapping[str, str]
) -> list[TaskId]:
    """Return the tasks meant, each once: arguments and `--id`s, else SOW_TASK_ID.

    Raises UsageError if none is named, StateError if one is no task's id.
    """
    named = [*arguments, *options] or [named_task(None, None, environ)]
    about_tasks(*named)
    return [parse_task_id(task) for task in dict.fromkeys(named)]


def all_or_named(
    caller: "Caller",
    arguments: Sequence[str],
    options: Sequence[str],
    *,
    all_live: bool,
    and_project: bool = False,
) -> list[TaskId]:
    """Return the tasks meant: with `--all` those of the project whose job lives, else the named.

    With `and_project` the project itself is one of them (`PROJECT_ITSELF`). Where
    none lives, that is said. Raises UsageError where both are given, or neither.
    """
    if not all_live:
        return named_tasks(arguments, options, caller.environ)
    if arguments or options:
        raise UsageError("--all and task ids exclude each other", hint="Give either.")
    # It reads the queue, which few of these commands need.
    from sow.calls.live_jobs import live_tasks

    found = live_tasks(caller, and_project=and_project)
    about_tasks(*filter(None, found))
    if not found:
        click.echo("No job of this project runs or waits.", err=True)
    return found


def is_own_agent(task_id: str, environ: Mapping[str, str]) -> bool:
    """Whether the caller is the agent of a running job of this very task."""
    if env_vars.JOB_ID not in environ:
        return False
    # Only a change of a task by an agent asks.
    from sow.agents.rights import calling_agent

    agent = calling_agent(environ)
    return agent is not None and agent.task_id == task_id


def read_given(file: Path | None, option: str) -> bytes:
    """Return all of `file`; of standard input where it is none, or `-`. Raises UsageError.

    What a worker runs for an agent in a sandbox opens no file that the agent has named.
    """
    file = None if str(file) == "-" else file
    name = str(file) if file is not None else "standard input"
    if file is not None and env_vars.REPORT in os.environ:
        raise UsageError(
            f"{name} is a file, and a report brings its text along",
            hint=f"{option} takes - here, and the text goes to standard input.",
        )
    try:
        data = _read(file)
    except (OSError, ValueError) as error:  # ValueError: a stream that is closed
        words = (getattr(error, "strerror", None) or str(error)).lower()
        raise UsageError(
            f"{name} cannot be read: {words}",
            hint=f"{option} takes a file, or - for standard input.",
        ) from error
    if len(data) > GIVEN_LIMIT:
        raise UsageError(
            f"{name} holds more than {GIVEN_LIMIT >> 20} MiB",
            hint="Put it into a file of the repository, and give its path instead.",
        )
    if env_vars.SECRETS in os.environ:
        # Only commands of an agent that was given secrets need it.
        from sow.cli.own_secrets import text_without_secrets

        return text_without_secrets(data, os.environ)
    return data


def _read(file: Path | None) -> bytes:
    if file is not None:
        with file.open("rb") as opened:
            return opened.read(GIVEN_LIMIT + 1)
    return sys.stdin.buffer.read(GIVEN_LIMIT + 1)
