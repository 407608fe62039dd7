"""Every `sow` command that a text names, tried on the true command tree.

Owns how a command is found in Markdown: in code spans, in fenced blocks and in indented ones. Runs
nothing.
"""

import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple

import click

from sow.agents.roles import AGENTS
from sow.prompts.library import is_prompt
from sow.schema.task import TaskStatus

FENCE = re.compile(r"^ *(```+|~~~+)(.*)$")
SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
INDENTED = re.compile(r"^ {4,}(?:\$ )?sow ")
"""A line of an indented block; of a list's own text only where that line begins with a command."""
OPTIONAL = re.compile(r"\[(--?[a-z][a-z-]*)\]")
"""An option in brackets, as a text has it that tells what may be added."""
ASSIGNMENT = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*=")
SEPARATORS = {"|", "||", "&&", ";", "&", ">", ">>", "<", "<<", "(", ")"}
PLACEHOLDERS = {
    "<agent>": "implementer",
    "<phase>": "implementation",
    "<role>": "implementer",
    "<task-id>": "010",
    "<task-id>…": "010",
}
ELLIPSES = {"…", "..."}


class Named(NamedTuple):
    """A command that a text names: its words after `sow`, and where it stands."""

    words: tuple[str, ...]
    line: int
    in_block: bool


def commands_of(text: str) -> list[Named]:
    """Return every `sow` command in the code spans and fenced blocks of a Markdown text."""
    found: list[Named] = []
    prose: list[str] = []
    fence: str | None = None
    for number, line in enumerate(_join_continued(text).split("\n"), start=1):
        mark = FENCE.match(line)
        if mark and (fence is None or mark[1].startswith(fence)):
            fence = None if fence else mark[1]
            prose.append("")
        elif fence or INDENTED.match(line):
            prose.append("")
            found += [Named(words, number, True) for words in _commands_in(line)]
        else:
            prose.append(line)
    return found + _spans("\n".join(prose))


def _join_continued(text: str) -> str:
    return re.sub(r" *\\\n +", " ", text)


def _spans(prose: str) -> list[Named]:
    found = []
    for match in SPAN.finditer(prose):
        line = prose.count("\n", 0, match.start()) + 1
        for words in _commands_in(" ".join(match[2].split())):
            found.append(Named(words, line, False))
    return found


def _commands_in(line: str) -> list[tuple[str, ...]]:
    """Return the words after `sow` of each simple command of one shell line."""
    if "sow" not in line:
        return []
    line = OPTIONAL.sub(r"\1", line.strip().removeprefix("$ "))
    for placeholder, value in PLACEHOLDERS.items():
        line = line.replace(placeholder, value)
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        return []  # an apostrophe in a line of output: no command
    commands: list[list[str]] = []
    current: list[str] = []
    for word in [*words, ";"]:
        if word in SEPARATORS:
            commands.append(current)
            current = []
        else:
            current.append(word)
    stripped = (_without_assignments(command) for command in commands)
    return [tuple(command[1:]) for command in stripped if command[:1] == ["sow"]]


def _without_assignments(command: list[str]) -> list[str]:
    while command and ASSIGNMENT.match(command[0]):
        command = command[1:]
    return command


def fault_of(named: Named, tree: click.Command) -> str | None:
    """Return what is wrong with a command of `tree`, or None if it would be understood."""
    command = tree
    context, rest = click.Context(tree, info_name="sow"), list(named.words)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        if rest[0] in ELLIPSES:
            return None
        try:
            child = command.get_command(context, rest[0])
        except ImportError as error:
            return f"`{context.command_path} {rest[0]}` cannot be imported: {error}"
        if child is None:
            return f"`{context.command_path}` has no command {rest[0]!r}"
        command, context = child, click.Context(child, info_name=rest.pop(0), parent=context)
    return _fault_of_arguments(command, context, rest, named.in_block)


def _fault_of_arguments(
    command: click.Command, context: click.Context, rest: list[str], in_block: bool
) -> str | None:
    unfinished = any(map(_is_left_open, rest))
    rest = [word for word in rest if not _is_left_open(word)]
    unknown = _unknown_options(command, context, rest)
    if unknown:
        return f"`{context.command_path}` has no option {unknown[0]}"
    if context.help_option_names and set(rest) & {*context.help_option_names, "-h"}:
        return None  # click would print the help
    if not isinstance(command, click.Group) and (rest or in_block) and not unfinished:
        try:
            command.make_context(context.info_name, list(rest), parent=context.parent)
        except click.exceptions.Exit:
            return None
        except click.MissingParameter as error:
            if in_block:
                return f"`{context.command_path}`: {error.format_message()}"
        except click.BadOptionUsage as error:
            is_mention = not in_block and rest[-1] == error.option_name
            if not is_mention:
                return f"`{context.command_path}`: {error.format_message()}"
        except click.BadParameter as error:
            if not _is_excused(error, rest):
                return f"`{context.command_path}`: {error.format_message()}"
        except click.UsageError as error:
            return f"`{context.command_path}`: {error.format_message()}"
    return _wrong_name(context.command_path.split()[1:], rest)


def _is_left_open(word: str) -> bool:
    """Whether a word stands for what a reader puts there, or leaves out: `…`, `[TASK]...`."""
    return word in ELLIPSES or word.startswith("[")


def _is_excused(error: click.BadParameter, rest: Sequence[str]) -> bool:
    """Whether a value is refused only because it is a file of the text, or a word like N."""
    of_a_file = isinstance(getattr(error.param, "type", None), click.Path | click.File)
    return of_a_file or any(re.fullmatch(r"[A-Z]+", word) for word in rest)


def _unknown_options(command: click.Command, context: click.Context, rest: list[str]) -> list[str]:
    known = {name for option in command.get_params(context) for name in option.opts}
    known |= {name for option in command.get_params(context) for name in option.secondary_opts}
    known |= set(context.help_option_names) | {"-h"}
    head = rest[: rest.index("--")] if "--" in rest else rest
    words = [word.split("=")[0] for word in head if re.match(r"^--?[a-z]", word)]
    return [word for word in words if word not in known]


def _wrong_name(path: Sequence[str], rest: Sequence[str]) -> str | None:
    """Return what is wrong with a prompt's path, an agent's name or a status, if anything."""
    agents = {agent.name for agent in AGENTS}
    words = [word for word in rest if not word.startswith("-")]
    if path == ["prompt"] and words and not is_prompt(words[0]) and words[0] != "NAME":
        return f"no such prompt: {words[0]}"
    is_task = bool(words) and words[0].isdecimal()
    if path == ["agent", "spawn"] and words and not is_task and words[0] not in agents:
        return f"no such agent: {words[0]}"
    if "--agent" in rest and path != ["agent", "log"]:
        name = rest[rest.index("--agent") + 1]
        return None if name in agents | {"ROLE", "AGENT"} else f"no such agent: {name}"
    sets_status = path == ["task", "set"] and "status" in words[:2] and words[-1] != "status"
    if sets_status and words[-1] not in set(TaskStatus):
        return f"no such status: {words[-1]}"
    return None
