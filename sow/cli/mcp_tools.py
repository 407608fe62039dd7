"""The tools of `sow mcp`, made of the commands themselves.

Owns how a parameter of a command becomes an argument with a schema, and how what a client gives
becomes a command line. The words are those of the commands' help; what may be
given is in its row (`sow.commands`).
"""

import inspect
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import click

from sow import commands
from sow.agents.rights import REVIEWING, CallingAgent, may_run
from sow.commands import CALLABLE, AgentTool, Command, Right
from sow.config.units import parse_duration, write_duration
from sow.mcp_server.tool import Arguments, Line, Tool, fit_text, fit_word

MARKS = "!<~"
MEANINGS: Mapping[str, str] = {
    "name": "Its name.",
    "field": "The field.",
    "value": "Its new value; lists are written a,b.",
    "text": "The text.",
    "task": "The task's id, such as 010.",
    "tasks": "The tasks' ids, such as 010.",
    "job": "The job's number.",
    "jobs": "The jobs' numbers.",
    "batch": "The batch's number or name; the newest without it.",
    "agent": "The role, such as implementer.",
    "prompt": "What the agent should do next.",
    "answer": "The answer to its question.",
    "entries": "The tasks: a list in YAML, or JSON with a task a line.",
    "findings": "What is to be changed, in Markdown.",
    "description": "What is to be done, in Markdown.",
    "event": "The event; the awaited one without it.",
    "names": "`plan`, paths of documents, or ids of work units.",
    "path": "The file's path in the repository.",
    "ids": "Their numbers.",
    "checks": "Names of checks; the default ones without it.",
    "query": "The words to look for, between spaces.",
    "document": "Its id in `knowledge list`, the beginning of one, or a path.",
    "url": "Where it is: an address, or a repository's folder.",
    "reference": "The reference's id.",
    "references": "The references' ids; all without it.",
    "executors": "Their names; all without it.",
}
"""What an argument is that is no option of its command, or whose option speaks of a file."""


class Taken(NamedTuple):
    """An argument of a tool, and the command's parameter behind it."""

    name: str
    parameter: click.Parameter
    required: bool
    from_stdin: bool
    is_word: bool
    """Whether it is one word of a parameter that holds several."""
    words: Sequence[str] = ()

    @property
    def is_list(self) -> bool:
        """Whether it holds several values."""
        several = self.parameter.multiple or self.parameter.nargs == -1
        return several and not (self.is_word or self.from_stdin)


def tools_for(
    root: click.Group, agent: CallingAgent | None, bound: float, *, leading: bool = False
) -> list[Tool]:
    """Return the tools of who asks: a person's client (None), or an agent's own.

    With `leading`, of those that are for orchestrators, only what leads a project.
    No call of a tool waits longer than `bound`, in seconds.
    """
    own_task = agent.task_id if agent else ""
    leads_only = leading and (agent is None or (agent.orchestrates and not agent.reviews))
    return [
        tool_of(root, row, tool, own_task, bound)
        for row, tool in _offered_to(agent)
        if not leads_only or (isinstance(tool, commands.Tool) and tool.leads)
    ]


def _offered_to(agent: CallingAgent | None) -> Iterator[tuple[Command, commands.Tool | AgentTool]]:
    """Yield the rows that somebody is offered as tools, each with what it takes then."""
    duties = _duties(agent)
    for words, row in CALLABLE.items():
        if agent is not None and not may_run(agent, words):
            continue
        if not duties:
            if isinstance(row.tool, commands.Tool):
                yield row, row.tool
            continue
        for tool in row.agent_tools:
            if duties & set(tool.offered_for):
                yield row, tool


def _duties(agent: CallingAgent | None) -> set[str]:
    """Return what an agent does in its job; nothing for who leads: a person, an orchestrator."""
    if agent is None or (agent.orchestrates and not agent.reviews):
        return set()
    if agent.reviews:
        return {commands.REVIEW}
    if agent.role in REVIEWING:
        return {commands.WORK, commands.PROJECT_REVIEW}
    return {commands.WORK}


def tool_of(
    root: click.Group, row: Command, source: commands.Tool | AgentTool, own_task: str, bound: float
) -> Tool:
    """Return a command as a tool."""
    words, leads = row.path, row.tool if isinstance(row.tool, commands.Tool) else commands.Tool()
    own = source if isinstance(source, AgentTool) else AgentTool(())
    command = _command(root, words)
    taken = [_taken(command, word, own.choices) for word in source.takes.split()]
    before = [*words, "--json", *own.flags]
    if own.own_task and own_task:
        before.append(f"{_option(_parameter(command, own.own_task))}={own_task}")

    def line(arguments: Arguments) -> Line:
        return _line(before, taken, arguments, bound)

    return Tool(
        name="_".join(words).replace("-", "_"),
        command=words,
        description=inspect.cleandoc(command.help or "").replace("\b\n", ""),
        schema={
            "type": "object",
            "properties": {each.name: _schema(each, bound) for each in taken},
            "required": [each.name for each in taken if each.required],
            "additionalProperties": False,
        },
        line=line,
        only_reads=row.right is Right.READS and not row.right_with,
        ends_work=leads.ends_work,
        keeps_last=leads.keeps_last,
    )


def _command(root: click.Group, words: tuple[str, ...]) -> click.Command:
    command: click.Command = root
    for word in words:
        assert isinstance(command, click.Group)  # noqa: S101 - the table is ours
        found = command.get_command(click.Context(command), word)
        assert found is not None  # noqa: S101 - the same
        command = found
    return command


def _taken(command: click.Command, word: str, choices: Mapping[str, Sequence[str]]) -> Taken:
    """Return what a word of `takes` means."""
    marks = {mark for mark in MARKS if mark in word}
    name, _, of = word.rstrip(MARKS).partition("=")
    parameter = _parameter(command, of or name)
    from_stdin = "<" in marks
    required = "!" in marks or (parameter.required and not from_stdin)
    return Taken(name, parameter, required, from_stdin, "~" in marks, choices.get(name, ()))


def _parameter(command: click.Command, name: str) -> click.Parameter:
    return next(each for each in command.params if each.name == name)


def _option(parameter: click.Parameter) -> str:
    """Return the long name of an option."""
    return max(parameter.opts, key=len)


def _schema(taken: Taken, bound: float) -> dict[str, Any]:
    """Return the schema of one argument."""
    schema: dict[str, Any] = {"type": "string"}
    kind = taken.parameter.type
    choices = taken.words or (kind.choices if isinstance(kind, click.Choice) else ())
    if getattr(taken.parameter, "is_flag", False):
        schema = {"type": "boolean"}
    elif isinstance(kind, click.IntRange):
        schema = {"type": "integer", "minimum": kind.min, "maximum": kind.max}
        schema = {key: value for key, value in schema.items() if value is not None}
    elif choices:
        schema["enum"] = [str(choice) for choice in choices]
    if taken.is_list:
        schema = {"type": "array", "items": schema}
    if taken.is_word and taken.name == "agent":
        schema["pattern"] = "[^0-9]"  # a number would be taken for a task
    return {**schema, "description": _meaning(taken, bound)}


def _meaning(taken: Taken, bound: float) -> str:
    if taken.name == "wait":
        return (
            f"Wait at most this long, such as 10s; {write_duration(bound)} without it, and never"
            " longer. Then exit_code is 75 while the job goes on, and continue_with is the call"
            " that goes on waiting."
        )
    help_text = getattr(taken.parameter, "help", None)
    own = taken.name in MEANINGS and (not help_text or taken.from_stdin or _names_a_task(taken))
    return MEANINGS[taken.name] if own else str(help_text or "")


def _names_a_task(taken: Taken) -> bool:
    return taken.parameter.name in ("task_option", "task_options") and taken.name != "id"


def _line(
    before: Collection[str], taken: Collection[Taken], arguments: Arguments, bound: float
) -> Line:
    """Return the command line of a call. Raises UsageError."""
    options: list[str] = []
    words: list[str] = []
    text: str | None = None
    for each in taken:
        value = arguments.get(each.name)
        if each.from_stdin:
            if value is None:
                continue
            text, value = fit_text(each.name, value), "-"
        if isinstance(each.parameter, click.Argument):
            words += _fit_words(each.name, value)
        elif each.name != "wait":
            options += _options(each, value)
    seconds = None
    if any(each.name == "wait" for each in taken) and not arguments.get("detach"):
        wait = fit_word("wait", arguments.get("wait") or write_duration(bound))
        seconds = _seconds(wait)
        options.append(f"--wait={write_duration(bound) if seconds > bound else wait}")
        seconds = min(seconds, bound)
    return Line((*before, *options, "--", *words), text, seconds)


def _options(taken: Taken, value: Any) -> Iterator[str]:
    """Yield an option as a client has given it; its value never stands apart from its name."""
    if value is None:
        return
    option = taken.parameter
    if isinstance(value, bool):
        if value or option.secondary_opts:
            yield max(option.opts if value else option.secondary_opts, key=len)
        return
    for word in _fit_words(taken.name, value):
        yield f"{_option(option)}={word}"


def _fit_words(name: str, value: Any) -> list[str]:
    if value is None:
        return []
    values = value if isinstance(value, list) else [value]
    return [fit_word(name, str(each)) for each in values]


def _seconds(wait: str) -> float:
    """Return how long a call is to wait; 0 for what is no length of time, which sow refuses."""
    try:
        return parse_duration(wait)
    except ValueError:
        return 0.0
