"""The lines of `claude --output-format stream-json`, as events.

Owns which fields of which lines matter; all others are skipped unread. Shapes
measured with Claude Code 2.1.197 and 2.1.330 (tests/recordings).
Lines also follow the result: 2.1.330 waits for its background tasks, for ever if
need be, and begins another turn when one ends.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

import msgspec

from sow.executors.base import Event, EventKind
from sow.executors.lines import lines_of_types
from sow.executors.metering import Span, tokens_from
from sow.executors.stream import (
    clean_session_id,
    decode_line,
    excerpt,
    http_status,
    money,
    parse_time,
    plausible_time,
    target_of,
)
from sow.schema.usage import ModelUsage, Tokens, Totals

LAST_BY_RUN = (2, 1, 197)
FIRST_BY_SESSION = (2, 1, 330)
"""What the totals count was measured with these two; of versions between them it is not known."""
VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})", re.ASCII)
MOST_MODELS = 50
"""More are not counted: no run uses as many."""
API_TOKENS = (
    *("input_tokens", "output_tokens"),
    *("cache_read_input_tokens", "cache_creation_input_tokens"),
)
MODEL_TOKENS = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
"""The keys of the four kinds of tokens: in a message, and in a result's sums by model."""
UNPRICED = "unknown"
"""The `costBasis` of a model whose price the CLI does not know: it takes its default model's."""
SHELL = "Bash"
TARGETS = ("command", "file_path", "path", "pattern", "url", "description")
ANSWER_LIMIT = 2_000
"""How much is kept of what a tool answers, in characters: for people, who read its beginning."""
RULE_LIMIT = 200
"""A longer denied command is named by its tool alone, in characters."""
MOST_FAILURES = 1_000_000
"""No request fails as often as that: what claims it is noise."""
SEVERAL_COMMANDS = re.compile(r"[;&|`]|\$\(|^\s*(?:for|while|until|if|case|\{)\s")
"""Marks a shell's loop or list. Claude Code holds each command of it against the rules by itself,
so a rule for the whole would never fit."""
DIAGNOSTIC = "[ede_diagnostic]"
"""Begins what an interrupted run puts among its errors: nothing for people (measured)."""
EVENT_LINES = lines_of_types("system", "assistant", "user", "rate_limit_event", "result")
TELLING_LINES = lines_of_types("system", "assistant", "rate_limit_event", "result")
"""Without the answers of tools, the longest lines of all: an observation keeps nothing of them."""


def span_of(version: Any) -> Span | None:
    """Return what the totals of a version count; None where nobody has measured it."""
    found = VERSION.match(version) if isinstance(version, str) else None
    if found is None:
        return None
    numbers = tuple(map(int, found.groups()))
    if numbers <= LAST_BY_RUN:
        return Span.RUN
    return Span.SESSION if numbers >= FIRST_BY_SESSION else None


def model_name(model: Any) -> str:
    """Return a model's name; nothing for what the CLI says in no model's name (`<synthetic>`)."""
    return excerpt(model, 100) if isinstance(model, str) and not model.startswith("<") else ""


def message_usage(message: Any, model: Any, usage: Any) -> Iterator[Event]:
    """Yield what a message has used, where it tells that."""
    tokens = api_tokens(usage)
    if tokens.total and isinstance(message, str):
        yield Event(
            EventKind.USAGE, message=excerpt(message, 200), model=model_name(model), tokens=tokens
        )


def api_tokens(usage: Any) -> Tokens:
    """Return the tokens that stand in a `usage`, in the words of the model's API."""
    return tokens_from(usage, API_TOKENS)


def totals_of(usd: float | None, by_model: Any, usage: Any) -> Totals | None:
    """Return a result's totals; of a version that tells none by model, those of its turn."""
    models = by_model if isinstance(by_model, dict) else {}
    some = islice(models.items(), MOST_MODELS)
    by_name = {excerpt(name, 100): _model(found) for name, found in some}
    tokens = api_tokens(usage)
    if not by_name and tokens.total:
        by_name = {"": ModelUsage(tokens=tokens, usd=usd)}
    return Totals(usd=usd, models=by_name) if by_name or usd is not None else None


def _model(found: Any) -> ModelUsage:
    figures = found if isinstance(found, dict) else {}
    return ModelUsage(
        tokens=tokens_from(figures, MODEL_TOKENS),
        usd=money(figures.get("costUSD")),
        is_estimate=figures.get("costBasis") == UNPRICED,
    )


class Block(msgspec.Struct, frozen=True):
    """One part of a message: text, a tool's call, or its answer."""

    type: str = ""
    text: str = ""
    name: str = ""
    input: Any = None
    content: Any = None
    is_error: bool | None = False


class Message(msgspec.Struct, frozen=True):
    """The message of an assistant or user line."""

    content: str | list[Block] = ""
    id: Any = None
    model: Any = None
    usage: Any = None


class Denial(msgspec.Struct, frozen=True):
    """One entry of `permission_denials`."""

    tool_name: str = "unknown"
    tool_input: Any = None


class SystemLine(msgspec.Struct, frozen=True, tag_field="type", tag="system"):
    """`init`, `api_retry`, `background_tasks_changed`; the others tell nothing we need."""

    subtype: str = ""
    session_id: str | None = None
    error_status: int | None = None
    error: Any = None
    attempt: Any = None
    """Of `api_retry`: which failure of the request it is, from 1."""
    tasks: Any = None
    model: Any = None
    claude_code_version: Any = None


class AssistantLine(msgspec.Struct, frozen=True, tag_field="type", tag="assistant"):
    """What the model said and which tools it called."""

    message: Message = Message()
    timestamp: Any = None
    """Told since 2.1.330."""


class UserLine(msgspec.Struct, frozen=True, tag_field="type", tag="user"):
    """What the tools answered."""

    message: Message = Message()
    timestamp: Any = None


class RateLimitInfo(msgspec.Struct, frozen=True):
    """`resetsAt` is in seconds since the epoch."""

    status: str = ""
    resetsAt: float | None = None  # noqa: N815 - the CLI's own name


class RateLimitLine(msgspec.Struct, frozen=True, tag_field="type", tag="rate_limit_event"):
    """The account's limit: allowed, allowed_warning or rejected."""

    rate_limit_info: RateLimitInfo = RateLimitInfo()


class ResultLine(msgspec.Struct, frozen=True, tag_field="type", tag="result"):
    """The last word. `subtype` is `success` even for an API failure: read `is_error`."""

    is_error: bool = False
    api_error_status: int | None = None
    result: str | None = None
    errors: list[str] | None = None
    session_id: str | None = None
    num_turns: int | None = None
    total_cost_usd: float | None = None
    usage: Any = None
    """Of this turn alone, without its subagents (measured)."""
    modelUsage: Any = None  # noqa: N815 - the CLI's own name
    permission_denials: list[Denial] | None = None
    terminal_reason: str | None = None


Line = SystemLine | AssistantLine | UserLine | RateLimitLine | ResultLine


def read_claude_line(line: bytes) -> tuple[Event, ...]:
    """Return what a line tells; nothing for noise. Never raises."""
    return tuple(event for each in decode_line(line, _decoder()) for event in _events(each))


@cache
def _decoder() -> msgspec.json.Decoder[Line]:
    return msgspec.json.Decoder(Line)


def _events(line: Line) -> Iterator[Event]:
    match line:
        case SystemLine(subtype="init"):
            yield Event(
                EventKind.SESSION,
                session_id=clean_session_id(line.session_id),
                model=model_name(line.model),
                span=span_of(line.claude_code_version),
            )
        case SystemLine(subtype="api_retry"):
            words = line.error if isinstance(line.error, str) else ""
            yield Event(
                EventKind.API_RETRY,
                text=excerpt(words),
                status=http_status(line.error_status),
                count=_count(line.attempt),
            )
        case SystemLine(subtype="background_tasks_changed"):
            yield _background(line.tasks)
        case AssistantLine():
            yield from spoken(line.message, parse_time(line.timestamp))
            yield from message_usage(line.message.id, line.message.model, line.message.usage)
        case UserLine():
            yield from answers(line.message, parse_time(line.timestamp))
        case RateLimitLine():
            yield _rate_limit(line.rate_limit_info)
        case ResultLine():
            yield from _result_events(line)


def _count(number: Any) -> int:
    return number if isinstance(number, int) and 0 < number < MOST_FAILURES else 0


def spoken(message: Message, at: float | None) -> Iterator[Event]:
    """Yield what a message of the model tells: its words, and the tools that it calls."""
    for block in _blocks(message):
        if block.type == "text":
            yield Event(EventKind.TEXT, text=excerpt(block.text), at=at)
        elif block.type == "tool_use":
            name = excerpt(block.name, 100)
            yield Event(EventKind.TOOL_USE, text=_call(name, block.input), tool=name, at=at)


def answers(message: Message, at: float | None) -> Iterator[Event]:
    """Yield what the tools have answered."""
    for block in _blocks(message):
        if block.type == "tool_result":
            words = excerpt(_words_of_answer(block.content), ANSWER_LIMIT)
            failed = bool(block.is_error)
            yield Event(EventKind.TOOL_RESULT, text=words, is_error=failed, at=at)


def _words_of_answer(content: Any) -> str:
    """Return what a tool has answered in words; pictures and the like are left out."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _blocks(message: Message) -> list[Block]:
    return [] if isinstance(message.content, str) else message.content


def _call(name: str, arguments: Any) -> str:
    """Return a tool's call for people: `Bash: npm test`, `Edit: src/app.py`."""
    target = target_of(arguments, TARGETS)
    return f"{name}: {target}" if target else name


def _background(tasks: Any) -> Event:
    """Return what runs in the background now; `tasks` lists it (measured with 2.1.330)."""
    running = tasks if isinstance(tasks, list) else []
    names = [task.get("description") for task in running if isinstance(task, dict)]
    words = ", ".join(name for name in names if isinstance(name, str))
    text = f"in the background: {words}" if words else ""
    return Event(EventKind.BACKGROUND, text=excerpt(text, 500), count=len(running))


def _rate_limit(info: RateLimitInfo) -> Event:
    """Return the limit; its reset time only where it is reached: until then nobody waits for it."""
    rejected = info.status == "rejected"
    return Event(
        EventKind.RATE_LIMIT,
        text=excerpt(info.status, 100),
        is_error=rejected,
        resets_at=plausible_time(info.resetsAt) if rejected else None,
    )


def _result_events(line: ResultLine) -> Iterator[Event]:
    for denial in line.permission_denials or ():
        rule = denied_rule(denial, SHELL)
        yield Event(EventKind.DENIAL, text=rule, tool=rule, is_error=True)
    # A resume of an unknown session ends in a result that names that session,
    # after no turn at all (measured): it must not pass for a session that began.
    began = not (line.is_error and not line.num_turns)
    errors = [each for each in line.errors or () if not each.startswith(DIAGNOSTIC)]
    words = line.result or "\n".join(errors) or (line.is_error and line.terminal_reason) or ""
    yield Event(
        EventKind.RESULT,
        text=excerpt(words),
        session_id=clean_session_id(line.session_id) if began else None,
        is_error=line.is_error,
        status=http_status(line.api_error_status),
        cost_usd=money(line.total_cost_usd),
        tokens=api_tokens(line.usage),
        totals=totals_of(money(line.total_cost_usd), line.modelUsage, line.usage),
    )


def denied_rule(denial: Denial, shell: str) -> str:
    """Return the rule that would allow it, as `settings.allowed_tools` takes it.

    `shell` is the CLI's name of the tool that runs commands.
    """
    tool = excerpt(denial.tool_name, 100)
    command = denial.tool_input.get("command") if isinstance(denial.tool_input, dict) else None
    if tool == shell and isinstance(command, str) and _fits_a_rule(command):
        return f"{shell}({excerpt(command)})"
    return tool


def _fits_a_rule(command: str) -> bool:
    plain = command.isprintable() and len(command) <= RULE_LIMIT and ")" not in command
    return plain and not SEVERAL_COMMANDS.search(command)
