"""Qwen Code, with its events as stream-json: the forms of Claude Code's, with other figures.

Owns its command line and what differs in its events. Measured with 0.24.4: the id of a session is
ours to choose; a resume keeps neither model nor permissions; `usage` of a result counts the whole
session and its input the cached tokens too; a limit is tried again without end.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar

import msgspec

from sow.agent_clis.qwen import CLI
from sow.executors.base import (
    Ending,
    Event,
    EventKind,
    Executor,
    Launch,
    LaunchRequest,
    Observation,
    Verdict,
)
from sow.executors.claude_stream import Denial, Message, answers, model_name, spoken
from sow.executors.endings import classify_ending
from sow.executors.lines import lines_of_types, read_matching
from sow.executors.metering import Span, token_count
from sow.executors.program_executor import JsonExecutor
from sow.executors.session import SessionSource
from sow.executors.stream import clean_session_id, decode_line, excerpt
from sow.schema.usage import ModelUsage, Tokens, Totals

SKIPS = ("--approval-mode", "yolo")
EDITS = ("--approval-mode", "auto-edit")
SHELL = "run_shell_command"


class QwenExecutor(JsonExecutor, frozen=True):
    """Drives Qwen Code."""

    cli = CLI
    session_source: ClassVar[SessionSource] = SessionSource.CHOSEN

    def spawn(self, request: LaunchRequest) -> Launch:
        """Return the launch that begins `request.session`."""
        return self._launch(request, "--session-id")

    def resume(self, request: LaunchRequest) -> Launch:
        """Return the launch that continues `request.session`, with all flags again."""
        return self._launch(request, "--resume")

    def read_line(self, line: bytes) -> tuple[Event, ...]:
        """Return what a line tells; nothing for noise. Never raises."""
        return tuple(event for each in decode_line(line, _decoder()) for event in _events(each))

    def read(self, data: bytes) -> Iterator[Event]:
        """Return the events of many lines."""
        return read_matching(data, EVENT_LINES, self.read_line)

    def classify(self, ending: Ending, seen: Observation) -> Verdict:
        """Return the cause of an ending without a status."""
        return classify_ending(ending, seen, self.cli, remedy=self.remedy)

    def _launch(self, request: LaunchRequest, session_flag: str) -> Launch:
        model = ("-m", self.config.model) if self.config.model else ()
        session = (session_flag, request.required_session.id)
        argv = (self.binary, "-o", "stream-json", *self._rights(request), *model)
        return Launch(
            argv=(*argv, *session, *self.config.custom_args),
            stdin=request.prompt,
            cwd=request.cwd,
        )

    def _rights(self, request: LaunchRequest) -> tuple[str, ...]:
        """Return its permissions: what is allowed here is no fence (measured)."""
        if self.config.yolo_mode:
            return SKIPS
        own = (f"{SHELL}(sow {command})" for command in request.commands)
        allowed = (*own, *self.config.allowed_tools)
        return (*EDITS, *(("--allowed-tools", ",".join(allowed)) if allowed else ()))


class SystemLine(msgspec.Struct, frozen=True, tag_field="type", tag="system"):
    """`init` names the session; `retry` tells of a failed request."""

    subtype: Any = None
    session_id: str | None = None
    model: Any = None
    error: Any = None
    message: Any = None
    attempt: Any = None
    status: Any = None


class AssistantLine(msgspec.Struct, frozen=True, tag_field="type", tag="assistant"):
    """What the model said and which tools it called."""

    message: Message = Message()


class UserLine(msgspec.Struct, frozen=True, tag_field="type", tag="user"):
    """What the tools answered."""

    message: Message = Message()


class Failure(msgspec.Struct, frozen=True):
    """Why a run has failed."""

    message: Any = None


class ResultLine(msgspec.Struct, frozen=True, tag_field="type", tag="result"):
    """The last word of a run that came to an end; one that was ended by a signal has none."""

    is_error: bool = False
    result: Any = None
    error: Failure | None = None
    session_id: str | None = None
    usage: Any = None
    permission_denials: list[Denial] | None = None


Line = SystemLine | AssistantLine | UserLine | ResultLine
EVENT_LINES = lines_of_types("system", "assistant", "user", "result")


@cache
def _decoder() -> msgspec.json.Decoder[Line]:
    return msgspec.json.Decoder(Line)


def _events(line: Line) -> Iterator[Event]:
    match line:
        case SystemLine(subtype="init"):
            session_id, model = clean_session_id(line.session_id), model_name(line.model)
            yield Event(EventKind.SESSION, session_id=session_id, model=model, span=Span.SESSION)
        case SystemLine(subtype="retry"):
            words = _words(line.error) or _words(line.message)
            status = line.status if isinstance(line.status, int) else None
            yield Event(EventKind.API_RETRY, text=words, status=status)
        case AssistantLine(message):
            yield from spoken(message, None)
            tokens = _tokens(message.usage)
            if tokens.total and isinstance(message.id, str):
                model = model_name(message.model)
                yield Event(EventKind.USAGE, message=message.id[:200], model=model, tokens=tokens)
        case UserLine(message):
            yield from answers(message, None)
        case ResultLine():
            yield from _result(line)


def _result(line: ResultLine) -> Iterator[Event]:
    for denial in line.permission_denials or ():
        tool = excerpt(denial.tool_name, 100)
        yield Event(EventKind.DENIAL, text=tool, tool=tool, is_error=True)
    words = _words(line.error.message) if line.error is not None else _words(line.result)
    totals = Totals(models={"": ModelUsage(tokens=_tokens(line.usage))}) if line.usage else None
    yield Event(
        EventKind.RESULT,
        text=words,
        session_id=clean_session_id(line.session_id),
        is_error=line.is_error,
        totals=totals,
    )


def _tokens(usage: Any) -> Tokens:
    """Return the tokens of a message or a session; `input_tokens` counts the cached ones."""
    figures = usage if isinstance(usage, dict) else {}
    cached = token_count(figures.get("cache_read_input_tokens"))
    return Tokens(
        input=max(0, token_count(figures.get("input_tokens")) - cached),
        output=token_count(figures.get("output_tokens")),
        cache_read=cached,
    )


def _words(text: Any) -> str:
    return excerpt(text) if isinstance(text, str) else ""


EXECUTOR: type[Executor] = QwenExecutor
