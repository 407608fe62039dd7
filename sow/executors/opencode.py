"""OpenCode: `opencode run --format json`.

Owns its command line, its permissions and its events. Measured with 1.18.33: the id of a session
comes with the first event, which follows the first answer of the model; a tool is told when it has
ended; there is no last line, so a step that ends with `stop` is the result; a permission that would
be asked for ends the run, one that is denied does not; a resume needs the session's first folder.
"""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar

import msgspec

from sow.agent_clis.opencode import CLI
from sow.executors.base import Event, EventKind, Executor, Launch, LaunchRequest
from sow.executors.lines import lines_of_types, read_matching
from sow.executors.metering import Span, token_count
from sow.executors.program_executor import JsonExecutor
from sow.executors.session import SessionSource
from sow.executors.stream import clean_session_id, decode_line, excerpt, finite, target_of
from sow.schema.usage import Tokens

SKIPS = ("--auto",)
TOOLS = ("read", "edit", "write", "glob", "grep", "list", "todowrite", "todoread")
"""What an agent may use besides the commands of sow: nothing of it runs a program."""
DENIALS = ("rejected permission", "permission to use", "denied")
TARGETS = ("command", "filePath", "path", "pattern", "url", "query")
ANSWER_LIMIT = 2_000


class OpencodeExecutor(JsonExecutor, frozen=True):
    """Drives OpenCode."""

    cli = CLI
    session_source: ClassVar[SessionSource] = SessionSource.LEARNED

    def spawn(self, request: LaunchRequest) -> Launch:
        """Return the launch that begins a session; its id is told in the first event."""
        return self._launch(request, ())

    def resume(self, request: LaunchRequest) -> Launch:
        """Return the launch that continues `request.session`, in the folder that it began in."""
        return self._launch(request, ("-s", request.required_session.id))

    def read_line(self, line: bytes) -> tuple[Event, ...]:
        """Return what a line tells; nothing for noise. Never raises."""
        return tuple(event for each in decode_line(line, _decoder()) for event in _events(each))

    def read(self, data: bytes) -> Iterator[Event]:
        """Return the events of many lines."""
        return read_matching(data, EVENT_LINES, self.read_line)

    def _launch(self, request: LaunchRequest, session: tuple[str, ...]) -> Launch:
        rights = SKIPS if self.config.yolo_mode else ()
        model = ("-m", self.config.model) if self.config.model else ()
        argv = (self.binary, "run", "--format", "json", *rights, *model)
        folder = ("--dir", str(request.cwd))
        permissions = {} if self.config.yolo_mode else permissions_for(request)
        return Launch(
            argv=(*argv, *session, *folder, *self.config.custom_args),
            stdin=request.prompt,
            cwd=request.cwd,
            env={"OPENCODE_PERMISSION": json.dumps(permissions)} if permissions else {},
        )


def permissions_for(request: LaunchRequest) -> dict[str, Any]:
    """Return what an agent may do: its role's commands of sow, and work on files in its folder.

    The last rule that fits counts. Nothing is left to be asked for: that would end the run.
    """
    bash = {"*": "deny"}
    for command in request.commands:
        bash |= {f"sow {command}": "allow", f"sow {command} *": "allow"}
    for command in request.denied:
        bash |= {f"sow {command}": "deny", f"sow {command} *": "deny"}
    return {"*": "deny", "bash": bash, **dict.fromkeys(TOOLS, "allow")}


class StartLine(msgspec.Struct, frozen=True, tag_field="type", tag="step_start"):
    """The model has answered for the first time in a step."""

    sessionID: str | None = None  # noqa: N815 - the CLI's own name


class TextLine(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    """What the model said."""

    part: Any = None
    timestamp: Any = None


class ToolLine(msgspec.Struct, frozen=True, tag_field="type", tag="tool_use"):
    """A tool that has ended."""

    part: Any = None
    timestamp: Any = None


class FinishLine(msgspec.Struct, frozen=True, tag_field="type", tag="step_finish"):
    """A step has ended: `tool-calls` and another follows, `stop` and none does."""

    part: Any = None
    sessionID: str | None = None  # noqa: N815


class ErrorLine(msgspec.Struct, frozen=True, tag_field="type", tag="error"):
    """A request has failed for good."""

    error: Any = None


Line = StartLine | TextLine | ToolLine | FinishLine | ErrorLine
EVENT_LINES = lines_of_types("step_start", "text", "tool_use", "step_finish", "error")


@cache
def _decoder() -> msgspec.json.Decoder[Line]:
    return msgspec.json.Decoder(Line)


def _events(line: Line) -> Iterator[Event]:
    match line:
        case StartLine():
            session_id = clean_session_id(line.sessionID)
            yield Event(EventKind.SESSION, session_id=session_id, is_kept=True, span=Span.RUN)
        case TextLine():
            text = _words(_dict(line.part).get("text"))
            yield Event(EventKind.TEXT, text=text, at=_seconds(line.timestamp))
        case ToolLine():
            yield from _tool(_dict(line.part), _seconds(line.timestamp))
        case FinishLine():
            yield from _finished(_dict(line.part), line.sessionID)
        case ErrorLine():
            yield _failed(_dict(line.error))


def _tool(part: dict[str, Any], at: float | None) -> Iterator[Event]:
    name, state = _words(part.get("tool"))[:100], _dict(part.get("state"))
    target = target_of(state.get("input"), TARGETS)
    failed = state.get("status") == "error"
    words = excerpt(_words(state.get("error" if failed else "output")), ANSWER_LIMIT)
    yield Event(EventKind.TOOL_USE, text=f"{name}: {target}" if target else name, tool=name, at=at)
    yield Event(EventKind.TOOL_RESULT, text=words, is_error=failed, at=at)
    if failed and any(word in words for word in DENIALS):
        rule = f"{name}: {target}" if target else name
        yield Event(EventKind.DENIAL, text=rule, tool=rule, is_error=True)


def _finished(part: dict[str, Any], session_id: str | None) -> Iterator[Event]:
    message, found = part.get("messageID"), _dict(part.get("tokens"))
    cache = _dict(found.get("cache"))
    tokens = Tokens(
        input=token_count(found.get("input")),
        output=token_count(found.get("output")) + token_count(found.get("reasoning")),
        cache_read=token_count(cache.get("read")),
        cache_write=token_count(cache.get("write")),
    )
    if tokens.total and isinstance(message, str):
        cost = part.get("cost")
        usd = finite(cost) if isinstance(cost, int | float) else None
        yield Event(EventKind.USAGE, message=message[:200], tokens=tokens, cost_usd=usd)
    if part.get("reason") == "stop":
        yield Event(EventKind.RESULT, session_id=clean_session_id(session_id))


def _failed(error: dict[str, Any]) -> Event:
    data = _dict(error.get("data"))
    words = _words(data.get("message")) or _words(error.get("name"))
    status = data.get("statusCode")
    known = status if isinstance(status, int) else None
    return Event(EventKind.RESULT, text=words, is_error=True, status=known)


def _dict(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}


def _words(text: Any) -> str:
    return excerpt(text) if isinstance(text, str) else ""


def _seconds(milliseconds: Any) -> float | None:
    return milliseconds / 1000 if isinstance(milliseconds, int) else None


EXECUTOR: type[Executor] = OpencodeExecutor
