"""`--id`, by which many commands name their task or tasks; what it means, `arguments` says."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from sow.cli import completing

MOST_PRIORITY = 1000
"""As `sow.schema.task` has it, which agents' commands need not import."""

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


def priority_option(function: F) -> F:
    """Give a command `--priority`: of the jobs that may run, the highest begins first."""
    return click.option(
        "--priority",
        type=click.IntRange(-MOST_PRIORITY, MOST_PRIORITY),
        metavar="N",
        help="Begin before jobs of a lower priority (default: the task's, else 0).",
    )(function)
