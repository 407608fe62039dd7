"""GitHub's Copilot CLI, with its events as JSON lines.

Owns its command line and its events. Measured with 1.0.102: the id of a session is ours to choose;
a resume goes back to the folder of the first run unless it is told another; it keeps the model and
no permissions; tokens are told nowhere in its events, and a signal leaves an exit code of 0.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar

import msgspec

from sow.agent_clis.copilot import CLI
from sow.executors.base import Event, EventKind, Executor, Launch, LaunchRequest
from sow.executors.lines import lines_of_types, read_matching
from sow.executors.program_executor import JsonExecutor
from sow.executors.session import SessionSource
from sow.executors.stream import clean_session_id, decode_line, excerpt, parse_time, target_of

SKIPS = ("--allow-all",)
TARGETS = ("command", "path", "fileName", "file_path", "pattern", "url", "query")
ANSWER_LIMIT = 2_000
STATUSES = {"authentication": 401, "rate_limit": 429, "query": 400}
"""What kinds of errors stand for, where no status is told."""


class CopilotExecutor(JsonExecutor, frozen=True):
    """Drives the Copilot CLI."""

    cli = CLI
    session_source: ClassVar[SessionSource] = SessionSource.CHOSEN

    def spawn(self, request: LaunchRequest) -> Launch:
        """Return the launch that begins `request.session`."""
        return self._launch(request, ("--session-id", request.required_session.id))

    def resume(self, request: LaunchRequest) -> Launch:
        """Return the launch that continues `request.session`, in this folder and with all flags."""
        folder = ("-C", str(request.cwd))
        return self._launch(request, (*folder, f"--resume={request.required_session.id}"))

    def read_line(self, line: bytes) -> tuple[Event, ...]:
        """Return what a line tells; nothing for noise. Never raises."""
        return tuple(event for each in decode_line(line, _decoder()) for event in _events(each))

    def read(self, data: bytes) -> Iterator[Event]:
        """Return the events of many lines."""
        return read_matching(data, EVENT_LINES, self.read_line)

    def _launch(self, request: LaunchRequest, session: tuple[str, ...]) -> Launch:
        model = ("--model", self.config.model) if self.config.model else ()
        argv = (self.binary, "--output-format", "json", *self._rights(request), *model)
        return Launch(
            argv=(*argv, *session, *self.config.custom_args),
            stdin=request.prompt,
            cwd=request.cwd,
        )

    def _rights(self, request: LaunchRequest) -> tuple[str, ...]:
        if self.config.yolo_mode:
            return SKIPS
        own = (f"shell(sow {command}:*)" for command in request.commands)
        refused = (f"shell(sow {command}:*)" for command in request.denied)
        allowed = (*own, "write", *self.config.allowed_tools)
        return (
            *(word for rule in allowed for word in ("--allow-tool", rule)),
            *(word for rule in refused for word in ("--deny-tool", rule)),
        )


class SpokenLine(msgspec.Struct, frozen=True, tag_field="type", tag="assistant.message"):
    """What the model said, whole."""

    data: Any = None
    timestamp: Any = None


class StartLine(msgspec.Struct, frozen=True, tag_field="type", tag="tool.execution_start"):
    """A tool's call."""

    data: Any = None
    timestamp: Any = None


class EndLine(msgspec.Struct, frozen=True, tag_field="type", tag="tool.execution_complete"):
    """A tool's answer."""

    data: Any = None
    timestamp: Any = None


class RetryLine(msgspec.Struct, frozen=True, tag_field="type", tag="assistant.turn_retry"):
    """A failed request that is tried again."""

    data: Any = None


class FailureLine(msgspec.Struct, frozen=True, tag_field="type", tag="session.error"):
    """A request that has failed for good."""

    data: Any = None


class ResultLine(msgspec.Struct, frozen=True, tag_field="type", tag="result"):
    """The last line of a run that came to an end."""

    sessionId: str | None = None  # noqa: N815 - the CLI's own name
    exitCode: Any = None  # noqa: N815


Line = SpokenLine | StartLine | EndLine | RetryLine | FailureLine | ResultLine
EVENT_LINES = lines_of_types(
    *("assistant.message", "tool.execution_start", "tool.execution_complete"),
    *("assistant.turn_retry", "session.error", "result"),
)


@cache
def _decoder() -> msgspec.json.Decoder[Line]:
    return msgspec.json.Decoder(Line)


def _events(line: Line) -> Iterator[Event]:
    match line:
        case SpokenLine():
            words = _words(_dict(line.data).get("content"))
            if words:
                yield Event(EventKind.TEXT, text=words, at=parse_time(line.timestamp))
        case StartLine():
            data = _dict(line.data)
            name, target = (
                _words(data.get("toolName"))[:100],
                target_of(data.get("arguments"), TARGETS),
            )
            text, at = f"{name}: {target}" if target else name, parse_time(line.timestamp)
            yield Event(EventKind.TOOL_USE, text=text, tool=name, at=at)
        case EndLine():
            yield from _answer(_dict(line.data), parse_time(line.timestamp))
        case RetryLine():
            yield Event(EventKind.API_RETRY, status=_status(_dict(line.data)))
        case FailureLine():
            data = _dict(line.data)
            words = _words(data.get("message"))
            yield Event(EventKind.RESULT, text=words, is_error=True, status=_status(data))
        case ResultLine(exitCode=0):
            yield Event(EventKind.RESULT, session_id=clean_session_id(line.sessionId))


def _answer(data: dict[str, Any], at: float | None) -> Iterator[Event]:
    failed, error = data.get("success") is not True, _dict(data.get("error"))
    words = _words(error.get("message")) or _words(_dict(data.get("result")).get("content"))
    yield Event(EventKind.TOOL_RESULT, text=excerpt(words, ANSWER_LIMIT), is_error=failed, at=at)
    if error.get("code") == "denied":
        tool = _words(data.get("toolName"))[:100] or "shell"
        yield Event(EventKind.DENIAL, text=tool, tool=tool, is_error=True)


def _status(data: dict[str, Any]) -> int | None:
    found = data.get("statusCode")
    return found if isinstance(found, int) else STATUSES.get(_words(data.get("errorType")))


def _dict(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}


def _words(text: Any) -> str:
    return excerpt(text) if isinstance(text, str) else ""


EXECUTOR: type[Executor] = CopilotExecutor
