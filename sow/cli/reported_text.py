"""The text that a report brings along: a file of the agent's, or its standard input.

Owns how the parameter is found on a command line, by the command's own declaration: the worker
that carries out the report is given the text, and `-` where the file's name stood.
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from sow.cli.arguments import read_given
from sow.cli.failure import show_failure, wants_json
from sow.cli.late_click import Declared, Step
from sow.commands import Command, Tool
from sow.errors import UsageError

MARKS = "!<~"


def with_text(row: Command, line: Sequence[str]) -> tuple[Sequence[str] | None, bytes | None]:
    """Return the line with `-` in the place of a file, and the text; None where it has none.

    Without a line what is wrong was shown: the text cannot be read.
    """
    step = _step_of(row)
    place = _place_on(line, len(row.path), step, _flags_of(row)) if step is not None else None
    if step is None or place is None:
        return line, None
    index, before = place
    name = line[index].removeprefix(before)
    try:
        text = read_given(Path(name), step.given[-1] if before else step.given[0])
    except UsageError as error:
        show_failure(error.message, error.hint, error.exit_code, as_json=wants_json(line))
        return None, None
    return [*line[:index], f"{before}-", *line[index + 1 :]], text


def _declared(row: Command) -> Declared:
    module, name = row.code.split(":")
    command = getattr(import_module(f"sow.cli.{module}"), name)
    assert isinstance(command, Declared)  # noqa: S101 - all commands are
    return command


def _step_of(row: Command) -> Step | None:
    """Return the declaration of the parameter that holds a text (`Tool.takes`)."""
    assert isinstance(row.tool, Tool)  # noqa: S101 - the caller has asked
    word = next(word for word in row.tool.takes.split() if "<" in word).rstrip(MARKS)
    meant = word.partition("=")[2] or word
    for step in _declared(row).steps:
        names = [name.lstrip("-").replace("-", "_") for name in step.given]
        if step.name in ("argument", "option") and meant in names:
            return step
    return None


def _flags_of(row: Command) -> frozenset[str]:
    """Return the options of a command that take no value."""
    steps = _declared(row).steps
    return frozenset(name for step in steps if step.settings.get("is_flag") for name in step.given)


def _place_on(
    line: Sequence[str], first: int, step: Step, flags: frozenset[str]
) -> tuple[int, str] | None:
    """Return where the text's file stands on a line, and what stands before it in that word."""
    index = first
    while index < len(line):
        word = line[index]
        name, equals, _ = word.partition("=")
        if step.name == "option" and word in step.given:
            return (index + 1, "") if index + 1 < len(line) else None
        if step.name == "option" and equals and name in step.given:
            return index, f"{name}="
        if not word.startswith("-") or word == "-":
            if step.name == "argument":
                return index, ""
        elif not equals and word not in flags:
            index += 1  # its value
        index += 1
    return None
