"""The options that features give to the commands that start agents.

A feature's module `options` has `OPTIONS`, and `parse(values)`, which returns what they ask for.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

import click

from sow.features import OPTIONS, parts

F = TypeVar("F", bound=Callable[..., Any])


def feature_options(function: F) -> F:
    """Give a command the options of features; it gets their values as `of_features`."""

    @wraps(function)
    def with_given(**values: Any) -> Any:
        given = {name: values.pop(name) for name in OPTIONS}
        return function(of_features=given, **values)

    command: Any = with_given
    for option in reversed([option for part in parts("options") for option in part.OPTIONS]):
        flag = {"is_flag": True} if option.is_flag else {"metavar": option.metavar}
        command = click.option(f"--{option.name}", help=option.help, **flag)(command)
    return cast("F", command)


def asked_of_features(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the options of features ask for, empty for nothing. Raises UsageError."""
    asked: dict[str, Any] = {}
    for part in parts("options"):
        asked |= part.parse(given)
    return asked
