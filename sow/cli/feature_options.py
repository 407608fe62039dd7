"""The options of the commands that start agents, and those that features give them.

A feature's module `options` has `OPTIONS`, and `parse(values)`, which returns what they ask for and
raises UsageError.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import click

from sow.cli.task_options import priority_option
from sow.cli.wait_options import again_option, call_options, dry_run_option
from sow.features import OPTIONS, parts

F = TypeVar("F", bound=Callable[..., Any])


def feature_options(function: F) -> F:
    """Give a command the options of features; it gets what they ask for as `asked`."""

    @wraps(function)
    def with_asked(**values: Any) -> Any:
        given = {name: values.pop(name) for name in OPTIONS}
        asked: dict[str, Any] = {}
        for part in parts("options"):
            asked |= part.parse(given)
        return function(asked=asked, **values)

    command: Any = with_asked
    for option in reversed([option for part in parts("options") for option in part.OPTIONS]):
        flag = {"is_flag": True} if option.is_flag else {"metavar": option.metavar}
        command = click.option(f"--{option.name}", help=option.help, **flag)(command)
    return cast("F", command)


def start_options(function: F) -> F:
    """Give a command the options that spawn and resume share."""
    command = call_options()(function)
    verbose = click.option(
        "-v", "--verbose", is_flag=True, help="Show how the executor was chosen."
    )
    for give in (verbose, dry_run_option, feature_options, priority_option, again_option):
        command = give(command)
    return command
