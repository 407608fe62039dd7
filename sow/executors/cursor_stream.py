"""The lines of `cursor-agent --output-format stream-json`, as events.

Owns which fields of which lines matter. Shapes from Cursor's documents
(docs/cli/reference/output-format) and public recordings, not run by us: the
tool is the key of `tool_call`, as in `{"shellToolCall": {"args": …, "result": …}}`.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec

from sow.executors.base import Event, EventKind
from sow.executors.lines import lines_of_types
from sow.executors.metering import Span, tokens_from
from sow.executors.stream import clean_session_id, decode_line, excerpt, target_of
from sow.schema.usage import ModelUsage, Totals

REFUSALS = frozenset(
    {
        "rejected",
        "permissionDenied",
        "readPermissionDenied",
        "writePermissionDenied",
        "needsConfirmation",
    }
)
"""The keys of a tool's result that mean: not allowed."""

SHELL_WORDS = frozenset({"for", "while", "until", "if", "case", "{", "(", "!"})
"""How a command line begins that is the shell's own: no program bears such a name."""

TARGETS = ("command", "path", "file_path", "pattern", "url")
ANSWERS = ("stdout", "stderr", "content", "errorMessage", "error", "reason", "message")
"""The keys below a result's own that hold words for people, the first of them first."""
ANSWER_LIMIT = 2_000
"""How much is kept of what a tool answers, in characters."""

FAILURES = REFUSALS | {"error", "failure", "timeout", "spawnError"}


class Block(msgspec.Struct, frozen=True):
    """One part of a message."""

    type: str = ""
    text: str = ""


class Message(msgspec.Struct, frozen=True):
    """The message of an assistant line."""

    content: str | list[Block] = ""


class SystemLine(msgspec.Struct, frozen=True, tag_field="type", tag="system"):
    """`init` names the session."""

    subtype: str = ""
    session_id: str | None = None
    model: Any = None


class AssistantLine(msgspec.Struct, frozen=True, tag_field="type", tag="assistant"):
    """What the model said."""

    message: Message = Message()


class ToolCallLine(msgspec.Struct, frozen=True, tag_field="type", tag="tool_call"):
    """A tool's call (`started`) or its answer (`completed`)."""

    subtype: str = ""
    tool_call: dict[str, Any] = {}


class ResultLine(msgspec.Struct, frozen=True, tag_field="type", tag="result"):
    """The last word of a run that succeeded; a failed one has none."""

    is_error: bool = False
    result: str | None = None
    session_id: str | None = None
    usage: Any = None
    """The tokens of this run; no price."""


Line = SystemLine | AssistantLine | ToolCallLine | ResultLine


def read_cursor_line(line: bytes) -> tuple[Event, ...]:
    """Return what a line tells; nothing for noise. Never raises."""
    return tuple(event for each in decode_line(line, _decoder()) for event in _events(each))


@cache
def _decoder() -> msgspec.json.Decoder[Line]:
    return msgspec.json.Decoder(Line)


EVENT_LINES = lines_of_types("system", "assistant", "tool_call", "result")


def _events(line: Line) -> Iterator[Event]:
    match line:
        case SystemLine(subtype="init"):
            yield Event(
                EventKind.SESSION,
                session_id=clean_session_id(line.session_id),
                model=excerpt(line.model, 100) if isinstance(line.model, str) else "",
                span=Span.RUN,
            )
        case AssistantLine():
            yield from _texts(line.message)
        case ToolCallLine():
            yield from _tool_events(line)
        case ResultLine():
            yield Event(
                EventKind.RESULT,
                text=excerpt(line.result or ""),
                session_id=clean_session_id(line.session_id),
                is_error=line.is_error,
                totals=_totals(line.usage),
            )


def _totals(usage: Any) -> Totals | None:
    """Return what a result tells of tokens; its model is the one told at the start."""
    if not isinstance(usage, dict):
        return None
    tokens = tokens_from(
        usage, ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    )
    return Totals(models={"": ModelUsage(tokens=tokens)})


def _texts(message: Message) -> Iterator[Event]:
    if isinstance(message.content, str):
        return
    for block in message.content:
        if block.type == "text":
            yield Event(EventKind.TEXT, text=excerpt(block.text))


def _tool_events(line: ToolCallLine) -> Iterator[Event]:
    for key, body in line.tool_call.items():
        if not isinstance(body, dict):
            continue
        tool = excerpt(key.removesuffix("ToolCall"), 100)
        target = target_of(body.get("args"), TARGETS)
        if line.subtype == "started":
            yield Event(EventKind.TOOL_USE, text=f"{tool}: {target}" if target else tool, tool=tool)
        elif line.subtype == "completed":
            yield from _answer(tool, target, body.get("result"))


def _answer(tool: str, target: str, result: Any) -> Iterator[Event]:
    outcome = result if isinstance(result, dict) else {}
    failed = bool(FAILURES & outcome.keys())
    yield Event(EventKind.TOOL_RESULT, text=_words_of(outcome), tool=tool, is_error=failed)
    if REFUSALS & outcome.keys():
        rule = _denied_rule(tool, target)
        yield Event(EventKind.DENIAL, text=rule, tool=rule, is_error=True)


def _words_of(outcome: dict[str, Any]) -> str:
    """Return what a tool has answered, in words: what it printed, or why it failed."""
    for answer in outcome.values():
        if isinstance(answer, str):
            return excerpt(answer, ANSWER_LIMIT)
        found = [answer.get(key) for key in ANSWERS] if isinstance(answer, dict) else []
        for words in found:
            if isinstance(words, str) and words.strip():
                return excerpt(words, ANSWER_LIMIT)
    return ""


def _denied_rule(tool: str, target: str) -> str:
    """Return the rule that would allow it, for `permissions.allow` of `.cursor/cli.json`."""
    words = target.split()
    if tool == "shell" and words and words[0].isprintable() and words[0] not in SHELL_WORDS:
        return f"Shell({words[0]})"
    return tool
