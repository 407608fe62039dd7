"""Reads a usual command line without click: a command's words, its flags, plain values, names.

Owns which line is a usual one. Any other (help, a value that has to be checked, a parameter that
is missing, whatever may be refused) is left to click, as if nobody had looked at it before: there
is one wording of every refusal. What is read here is what click reads
(tests/cli_state/test_usual_line.py). Which commands there are is `sow.commands`.
"""

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from sow import env_vars
from sow.cli.late_click import Declared, LateClass, Step
from sow.cli.this_call import this_call
from sow.commands import Command, row_of
from sow.plain_record import PlainRecord

ARGUMENT_SETTINGS = frozenset({"metavar", "nargs", "required", "shell_complete", "type"})
OPTION_SETTINGS = ARGUMENT_SETTINGS - {"nargs"} | {
    "default",
    "help",
    "is_flag",
    "multiple",
    "show_default",
}
"""What is understood here of a parameter. `type` is left to click where a value is given."""

Values = dict[str, Any]


class UsualLine(PlainRecord):
    """A command, and the values of all its parameters."""

    row: Command
    command: Declared
    values: Values

    def run(self) -> Any:
        """Run the command; an agent that calls it is asked for its right first."""
        this_call().words = self.row.words
        if env_vars.JOB_ID in os.environ:
            # Only a call of an agent needs it.
            from sow.cli.asking_right import ask_right

            ask_right(self.row.path, self.values)
        return self.command.function(**self.values)


def read_usual(line: Sequence[str]) -> UsualLine | None:
    """Return what a command line says; None where click has to read it."""
    row = row_of(line)
    if row is None:
        return None
    module, name = row.code.split(":")
    command = getattr(import_module(f"sow.cli.{module}"), name)
    if not isinstance(command, Declared) or not _is_plain(command):
        return None
    values = _values_of(command.steps[:-1], line[len(row.path) :])
    return None if values is None else UsualLine(row, command, values)


def _is_plain(command: Declared) -> bool:
    *parameters, outermost = command.steps
    settings = outermost.settings
    if outermost.name == "group":
        is_plain = bool(settings.get("invoke_without_command"))
    else:
        is_plain = all(isinstance(setting, LateClass) for setting in settings.values())
    return is_plain and all(map(_is_plain_parameter, parameters))


def _is_plain_parameter(step: Step) -> bool:
    settings = step.settings
    if step.name == "argument":
        return settings.keys() <= ARGUMENT_SETTINGS and settings.get("nargs") in (None, -1)
    if step.name != "option":
        return False
    is_converted = "type" in settings and isinstance(settings.get("default"), str)
    has_default = "default" in settings or not _is_switch(step)
    return settings.keys() <= OPTION_SETTINGS and has_default and not is_converted


def _is_switch(step: Step) -> bool:
    """Whether it is `--yes/--no`; on a line its words are click's to read."""
    return any("/" in name for name in step.given)


def _values_of(parameters: Sequence[Step], words: Sequence[str]) -> Values | None:
    options = {name: step for step in parameters for name in step.given if name[0] == "-"}
    values = {_name_of(step): _default_of(step) for step in parameters}
    given: Values = {}
    names: list[str] = []
    left = iter(words)
    for word in left:
        if not word.startswith("-"):
            names.append(word)
            continue
        if word not in options:
            return None
        step = options[word]
        key, settings = _name_of(step), step.settings
        is_flag = settings.get("is_flag")
        value = True if is_flag else next(left, "")
        if not value or (not is_flag and (str(value).startswith("-") or "type" in settings)):
            return None
        if settings.get("multiple"):
            given[key] = (*given.get(key, ()), value)
        elif key in given:
            return None
        else:
            given[key] = value
    taken = _arguments_of([step for step in parameters[::-1] if step.name == "argument"], names)
    lacks = any(
        step.name == "option" and step.settings.get("required") and _name_of(step) not in given
        for step in parameters
    )
    return None if taken is None or lacks else {**values, **given, **taken}


def _arguments_of(arguments: Sequence[Step], names: Sequence[str]) -> Values | None:
    """Return the arguments' values, in the order of their names on the line."""
    values: Values = {}
    for number, step in enumerate(arguments, 1):
        has_several = step.settings.get("nargs") == -1
        if has_several and number < len(arguments):
            return None
        mine, names = (names, ()) if has_several else (names[:1], names[1:])
        if mine and not ("type" in step.settings or "" in mine):
            values[_name_of(step)] = tuple(mine) if has_several else mine[0]
        elif mine or step.settings.get("required", not has_several):
            return None
    return None if names else values


def _name_of(step: Step) -> str:
    """Return the name by which a function takes a parameter, as click finds it."""
    names: Sequence[str] = [name.partition("/")[0] for name in step.given]
    named = [name for name in names if name[0] != "-"] or [n for n in names if n[:2] == "--"]
    return named[0].lstrip("-").replace("-", "_").lower()


def _default_of(step: Step) -> Any:
    settings = step.settings
    if settings.get("multiple") or settings.get("nargs") == -1:
        return ()
    return settings.get("default", False if settings.get("is_flag") else None)
