"""click's names as our commands use them, without importing click before something asks for it.

Importing click takes a good part of a short command's time, and a usual command line needs it for
nothing (`sow.cli.usual_line`). So a command declares its parameters here, in click's own words, and
`Declared.for_click` makes click's command of them: for help, completion, refusals, tools, and every
line that is not a usual one. Every name that is not here is click's own.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sow.plain_record import PlainRecord

if TYPE_CHECKING:
    from click import Abort as Abort
    from click import BadOptionUsage as BadOptionUsage
    from click import BadParameter as BadParameter
    from click import Command as Command
    from click import Context as Context
    from click import HelpFormatter as HelpFormatter
    from click import MissingParameter as MissingParameter
    from click import Parameter as Parameter
    from click import UsageError as UsageError

F = TypeVar("F", bound=Callable[..., Any])


class Step(PlainRecord):
    """One of click's decorators, and what it is given."""

    name: str
    given: Sequence[Any]
    settings: Mapping[str, Any]


class LateType(Step):
    """A type of click's, made when click's command is."""


class LateClass(PlainRecord):
    """A class of ours of click's command, imported for click: no usual line needs it."""

    module: str
    name: str


class Declared:
    """A command as it is declared: a function, and click's decorators, the innermost first."""

    def __init__(self, function: Callable[..., Any], steps: Sequence[Step]) -> None:
        self.function = function
        self.steps = steps

    @cached_property
    def for_click(self) -> "Command":
        """Click's own command."""
        click = import_module("click")
        made: Any = self.function
        for step in self.steps:
            decorator = getattr(click, step.name)
            if step.name != "pass_context":  # the only one that is given nothing
                settings = {key: _made(value) for key, value in step.settings.items()}
                decorator = decorator(*step.given, **settings)
            made = decorator(made)
        return cast("Command", made)


def command(*given: Any, **settings: Any) -> Callable[[Callable[..., Any]], Declared]:
    """Declare a command."""
    return _outermost("command", given, settings)


def group(*given: Any, **settings: Any) -> Callable[[Callable[..., Any]], Declared]:
    """Declare a group of commands that is a command itself."""
    return _outermost("group", given, settings)


def argument(*given: Any, **settings: Any) -> Callable[[F], F]:
    """Declare an argument of a command."""
    return _step("argument", given, settings)


def option(*given: Any, **settings: Any) -> Callable[[F], F]:
    """Declare an option of a command."""
    return _step("option", given, settings)


def pass_context(function: F) -> F:
    """Have a command given click's context."""
    return _step("pass_context", (), {})(function)


def Choice(*given: Any, **settings: Any) -> Any:  # noqa: N802 - click's name
    """Return the type of an option that takes one of some words."""
    return LateType("Choice", given, settings)


def IntRange(*given: Any, **settings: Any) -> Any:  # noqa: N802 - click's name
    """Return the type of an option that takes a number."""
    return LateType("IntRange", given, settings)


def Path(*given: Any, **settings: Any) -> Any:  # noqa: N802 - click's name
    """Return the type of an option that takes a path."""
    return LateType("Path", given, settings)


def echo(message: object = "", *, nl: bool = True, err: bool = False) -> None:
    """Print a text as click does, which is asked where a text or a stream is not a usual one."""
    stream = sys.stderr if err else sys.stdout
    if isinstance(message, bytes) and not nl and hasattr(stream, "buffer"):
        stream.flush()
        stream.buffer.write(message)
        stream.buffer.flush()
        return
    text = f"{message}\n" if nl else str(message)
    encodes_all = text.isascii() or stream.encoding == "utf-8"
    if isinstance(message, bytes) or "\x1b" in text or not encodes_all:
        import_module("click").echo(message, nl=nl, err=err)
    else:
        stream.write(text)
        stream.flush()


def __getattr__(name: str) -> Any:
    if name == "__path__":  # `from … import` asks
        raise AttributeError(name)
    return getattr(import_module("click"), name)


def _outermost(
    name: str, given: Sequence[Any], settings: Mapping[str, Any]
) -> Callable[[Callable[..., Any]], Declared]:
    def declare(function: Callable[..., Any]) -> Declared:
        return Declared(function, (*_steps_of(function), Step(name, given, settings)))

    return declare


def _step(name: str, given: Sequence[Any], settings: Mapping[str, Any]) -> Callable[[F], F]:
    """Return what notes one of click's decorators on the function that it decorates."""

    def note(function: F) -> F:
        vars(function)["click_steps"] = (*_steps_of(function), Step(name, given, settings))
        return function

    return note


def _steps_of(function: Callable[..., Any]) -> Sequence[Step]:
    steps: Sequence[Step] = vars(function).get("click_steps", ())
    return steps


def _made(value: Any) -> Any:
    """Return what a setting is for click: a type that was put off is made now."""
    if isinstance(value, LateClass):
        return getattr(import_module(f"sow.cli.{value.module}"), value.name)
    if isinstance(value, LateType):
        return getattr(import_module("click"), value.name)(*value.given, **value.settings)
    return value
