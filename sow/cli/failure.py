"""How a failure is shown: words on standard error, and with `--json` an object on standard output.

Owns the form of both. The object stands where the result would stand: standard
error also carries notes, warnings and progress, among which no program can find
an object, and of several tasks each has its line in one place. The words come
as well, for whoever watches a script that keeps standard output to itself.
"""

import re
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import TypeVar

from sow.cli import late_click as click
from sow.cli.output import echo_json
from sow.errors import ExitCode, SowError
from sow.ids import TASK_ID_PATTERN

JSON_OPTION = "--json"

Task = TypeVar("Task", bound=str)


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether a command line asks for JSON, also one that click refuses to read."""
    words = list(arguments)
    ends = words.index("--") if "--" in words else len(words)
    return JSON_OPTION in words[:ends]


def show_failure(
    message: str, hint: str, exit_code: ExitCode, *, as_json: bool, about: Collection[str] = ()
) -> None:
    """Show what has ended a command. Nobody may listen: the exit code has to tell it then.

    `about` are the tasks that its command line named; an error of one task names it.
    """
    with suppress(OSError, ValueError):
        if as_json:
            _echo_object(message, hint, exit_code, _only(about))
            sys.stdout.flush()
    with suppress(OSError, ValueError):
        click.echo(f"Error: {message}", err=True)
        if hint:
            click.echo(f"\n{hint}", err=True)


def _only(about: Collection[str]) -> str | None:
    """Return the one task of some that is a task's id; None where there are others too."""
    task_id = next(iter(about)) if len(about) == 1 else ""
    return task_id if re.fullmatch(TASK_ID_PATTERN, task_id) else None


def for_each(tasks: Sequence[Task], act: Callable[[Task], int | None], *, as_json: bool) -> int:
    """Do something for each task and return the exit code; what `act` returns, if not 0, ends it.

    Of several tasks, one that is refused does not stop the others: the exit
    code is that of the refusals, or 1 where they have several. Raises what
    `act` raises for a single task.
    """
    codes: set[int] = set()
    for task in tasks:
        try:
            ends = act(task)
        except SowError as error:
            if len(tasks) == 1:
                raise
            show_refusal(task, error, as_json=as_json)
            codes.add(int(error.exit_code))
        else:
            if ends:
                return ends
    return int(ExitCode.FAILED) if len(codes) > 1 else max(codes, default=0)


def show_refusal(task_id: str, error: SowError, *, as_json: bool) -> None:
    """Show why one of several tasks was refused; the others go on.

    Without a task it is one of several jobs that were named by their numbers.
    """
    if as_json:
        _echo_object(error.message, error.hint, error.exit_code, task_id or None)
    name = f"{task_id}: " if task_id else ""
    click.echo(f"Error: {name}{error.message}\n\n{error.hint}\n", err=True)


def _echo_object(message: str, hint: str, exit_code: ExitCode, task_id: str | None = None) -> None:
    echo_json(
        {
            "task": task_id,
            "error": {
                "kind": exit_code.name.lower(),
                "exit_code": int(exit_code),
                "message": message,
                "hint": hint,
            },
        }
    )
