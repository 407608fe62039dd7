"""`--id`, by which many commands name their task or tasks; what it means, `arguments` says."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from sow.cli import completing

F = TypeVar("F", bound=Callable[..., Any])


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
