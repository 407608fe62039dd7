"""What stands in double braces in a prompt: `{{task}}`, and `{{include shared/protocol}}`.

Owns which variables there are, and how each is filled in or refused by file, line and name. Pure.
There is no default and no empty text for what is missing: an agent that reads a hole in its orders
invents what was meant.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from sow.errors import ConfigurationError


class Given(StrEnum):
    """Where a variable has a value. The words end a sentence that begins with "It has one"."""

    WORKSPACE = "where there is a .sow folder"
    PROJECT = "where there is a project"
    TASK = "in what the agent of a task reads"
    HERE = "in the greetings, which `sow prompt` composes"


class Variable(NamedTuple):
    """One name that may stand in double braces."""

    words: str
    """What stands there."""
    given: Given


VARIABLES: Mapping[str, Variable] = {
    "root": Variable("the folder that holds .sow", Given.WORKSPACE),
    "project": Variable("what the project is called", Given.PROJECT),
    "goal": Variable("its description, or that it has none", Given.PROJECT),
    "branch": Variable("the project's branch", Given.PROJECT),
    "type": Variable("its type, such as standard", Given.PROJECT),
    "state": Variable("its state, such as planning", Given.PROJECT),
    "project_iteration": Variable("its iteration, from 1", Given.PROJECT),
    "project_feedback": Variable("what is to be changed of the whole, quoted", Given.PROJECT),
    "role": Variable("the role of the agent, such as implementer", Given.TASK),
    "task": Variable("the id of its task, such as 010", Given.TASK),
    "task_name": Variable("what the task is called", Given.TASK),
    "task_folder": Variable("the task's folder, as the agent opens it", Given.TASK),
    "task_status": Variable("its status, such as in_progress", Given.TASK),
    "iteration": Variable("its iteration, from 1", Given.TASK),
    "description": Variable("its description.md, quoted", Given.TASK),
    "feedback": Variable("its feedback that is not settled, quoted", Given.TASK),
    "next": Variable("what `sow next` prints", Given.HERE),
}
"""Every variable that a text may name."""

Facts = Mapping[str, Callable[[], str | None]]
"""What fills the variables; asked only for those that a text names."""

ANYTHING: Facts = {name: lambda: "anything" for name in VARIABLES}
"""What fills each of them where only the form of a text matters."""

Include = Callable[[str], str]
"""Returns the text of a prompt by its name, filled in. Raises ValueError, with the reason."""

PLACEHOLDER = re.compile(r"(\\?)\{\{(.*?)\}\}")
INCLUDE = "include "
LONGEST = 4 << 20
"""How many characters a text may have once it is filled in. A team's text may come from a
repository that somebody else has made: texts that include each other twice grow without bounds."""


class UnfilledPrompt(ConfigurationError):
    """What stands in double braces cannot be filled in: no such variable, or none here."""

    def __init__(self, source: str, line: int, name: str, why: str, remedy: str) -> None:
        self.source = source
        self.line = line
        self.name = name
        self.why = why
        self.remedy = remedy
        super().__init__(
            f"{source}, line {line}: {{{{{name}}}}} {why}",
            hint=f"{remedy}\nThe variables are:\n{_listed()}\n"
            "For braces as they stand write \\{{.",
        )


def fill(text: str, facts: Facts, source: str, include: Include | None = None) -> str:
    r"""Return a text with each variable filled in, and each text in that it includes.

    `\{{` stands for two braces. Raises UnfilledPrompt, which names `source` and line.
    """
    pieces: list[str] = []
    size = at = 0
    for line, match in _placeholders(text):
        name = match[2].strip()
        value = match[0][1:] if match[1] else _value(name, facts, source, line, include)
        pieces += [text[at : match.start()], value]
        size += match.start() - at + len(value)
        at = match.end()
        if size > LONGEST:
            why = f"makes a prompt of more than {LONGEST >> 20} MiB"
            raise UnfilledPrompt(source, line, name, why, "Name it once, or take it out.")
    return "".join([*pieces, text[at:]])


def _value(name: str, facts: Facts, source: str, line: int, include: Include | None) -> str:
    """Return what stands for a variable, or for a text to be included. Raises UnfilledPrompt."""
    if name.startswith(INCLUDE):
        return _included(name, include, source, line)
    if fault := fault_of(name, VARIABLES):
        raise UnfilledPrompt(source, line, name, *fault)
    found = facts[name]() if name in facts else None
    if not found:
        raise UnfilledPrompt(source, line, name, *_missing(name))
    return found


def fault_of(name: str, known: Iterable[str]) -> tuple[str, str] | None:
    """Return what is wrong with a variable's name, and the remedy; None where it is one."""
    if name in known:
        return None
    if name in VARIABLES:
        return _missing(name)
    from difflib import get_close_matches  # heavy, and for an error's hint alone

    near = get_close_matches(name, VARIABLES, n=1)
    guess = f"Did you mean {{{{{near[0]}}}}}? " if near else ""
    return "is no variable of a prompt", f"{guess}Write one of these, or take it out."


def variables_of(text: str) -> list[tuple[int, str]]:
    """Return the variables that a text names, each with its line."""
    return [(line, name) for line, name in _named_in(text) if not name.startswith(INCLUDE)]


def includes_of(text: str) -> list[tuple[int, str]]:
    """Return the names of the prompts that a text includes, each with its line."""
    named = _named_in(text)
    return [(line, name[len(INCLUDE) :].strip()) for line, name in named if _is_include(name)]


def _is_include(name: str) -> bool:
    return name.startswith(INCLUDE)


def _named_in(text: str) -> list[tuple[int, str]]:
    return [(line, match[2].strip()) for line, match in _placeholders(text) if not match[1]]


def _placeholders(text: str) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield what stands in double braces, with its line.

    Of a line only what lies before its last closing braces is looked at. Each brace behind them
    would be tried up to the line's end, and a line may have a hundred thousand.
    """
    start = 0
    for number, line in enumerate(text.split("\n"), 1):
        end = line.rfind("}}")
        if end >= 0:
            for match in PLACEHOLDER.finditer(text, start, start + end + 2):
                yield number, match
        start += len(line) + 1


def _included(name: str, include: Include | None, source: str, line: int) -> str:
    if include is None:
        raise UnfilledPrompt(source, line, name, "stands where nothing is included", "Take it out.")
    try:
        return include(name[len(INCLUDE) :].strip()).rstrip("\n")
    except ValueError as error:
        raise UnfilledPrompt(source, line, name, *error.args) from error


def _missing(name: str) -> tuple[str, str]:
    remedy = (
        f"It has one {VARIABLES[name].given}. Take it out of this text, or move the sentence to one"
        " that only such a reader gets (`sow prompt --where` names them all)."
    )
    return "has no value here", remedy


def _listed() -> str:
    return "\n".join(f"  {{{{{name}}}}}  {each.words}" for name, each in VARIABLES.items())
