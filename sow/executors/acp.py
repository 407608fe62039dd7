"""Any agent that speaks the Agent Client Protocol: its program is ours, `sow.acp`.

Owns the orders of that program and what its events mean. The agent's own program is a child of it.
The id of a session is the agent's, told before the prompt. What an agent tells of its use stays in
the output as it stands: what it counts differs between agents, so none of it is added up.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from sow.acp.presets import PRESETS, UNKNOWN
from sow.agent_clis.acp import ADVICE, ADVISED, CLI, LOGIN, STARTS
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
from sow.executors.lines import lines_of_types, read_matching
from sow.executors.program_executor import JsonExecutor
from sow.executors.session import Session, SessionSource
from sow.executors.stream import clean_session_id, decode_line, excerpt
from sow.schema.causes import Cause

ORDERS_FILE = "acp.json"
CLIENT = ("-E", "-P", "-m", "sow.acp")
"""It ignores the variables of Python, so that the agent below it has the user's own."""
ANSWER_LIMIT = 2_000
MERGED = "CODEX_CONFIG"
"""A variable with settings, of which the user may have some there: a service of their own."""


class AcpExecutor(JsonExecutor, frozen=True):
    """Drives an agent by the protocol."""

    cli = CLI
    session_source: ClassVar[SessionSource] = SessionSource.LEARNED

    def spawn(self, request: LaunchRequest) -> Launch:
        """Return the launch that begins a session; its id is told before the prompt."""
        return self._launch(request, None)

    def resume(self, request: LaunchRequest) -> Launch:
        """Return the launch that continues `request.session`."""
        return self._launch(request, request.required_session)

    def classify(self, ending: Ending, seen: Observation) -> Verdict:
        """Return the cause of an ending without a status; its reason ends with what helps."""
        from sow.executors.endings import REASON_LIMIT  # who makes an executor judges no ending yet

        verdict = super().classify(ending, seen)
        words = seen.result.text if seen.result is not None and seen.result.is_error else ""
        help_with = LOGIN if verdict.cause is Cause.AUTH else _advice_on(verdict.cause, words)
        if not help_with:
            return verdict
        starts = STARTS[self.config.preset or "cline"]
        advice = help_with.format(executor=f"agents.executors.{self.name}", starts=starts)
        # Of a program that has crashed, the last lines of standard error alone are the reason.
        known = () if excerpt(words, REASON_LIMIT) in verdict.reason else (words,)
        return replace(verdict, reason="\n".join((*known, verdict.reason, advice)))

    def read_line(self, line: bytes) -> tuple[Event, ...]:
        """Return what a line tells; nothing for noise. Never raises."""
        return tuple(event for each in decode_line(line, _decoder()) for event in _events(each))

    def read(self, data: bytes) -> Iterator[Event]:
        """Return the events of many lines."""
        return read_matching(data, EVENT_LINES, self.read_line)

    def _launch(self, request: LaunchRequest, session: Session | None) -> Launch:
        preset = self.config.preset
        known = UNKNOWN if preset is None else PRESETS[preset]
        orders = request.prompt_file.with_name(ORDERS_FILE)
        return Launch(
            argv=(sys.executable, *CLIENT, str(orders)),
            stdin=request.prompt,
            cwd=request.cwd,
            env=_variables(known.variables, request.environ),
            files={ORDERS_FILE: self._orders(request, session)},
        )

    def _orders(self, request: LaunchRequest, session: Session | None) -> str:
        own = () if request.checkout is None else (request.cwd / ".git",)  # of its clone alone
        return json.dumps(
            {
                "command": [*self.config.command, *self.config.custom_args],
                "folder": str(request.cwd),
                "session": session.id if session is not None else None,
                "preset": self.config.preset,
                "commands": request.commands,
                "denied": request.denied,
                "readable": [str(folder) for folder in request.readable],
                "unwritable": [str(folder) for folder in request.unwritable],
                "writable": [str(folder) for folder in (*request.writable, *own)],
                "allows_all": self.config.yolo_mode,
                "secrets": self.config.secret_names,
            },
            indent=1,
        )


def _advice_on(cause: Cause, words: str) -> str:
    advised = ADVICE if cause in ADVISED else ()
    return next((advice for pattern, advice in advised if re.match(pattern, words)), "")


def _variables(ours: Mapping[str, str], environ: Mapping[str, str]) -> Mapping[str, str]:
    """Return what the agent's environment has to hold, with the user's own settings in it."""
    own = environ.get(MERGED)
    if MERGED not in ours or not own:
        return ours
    try:
        settings = json.loads(own)
    except ValueError:
        return ours
    if not isinstance(settings, dict):
        return ours
    return {**ours, MERGED: json.dumps({**settings, **json.loads(ours[MERGED])})}


class SessionLine(msgspec.Struct, frozen=True, tag_field="type", tag="session"):
    """The session that the run goes on in."""

    session_id: str | None = None


class TextLine(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    """What the agent said."""

    text: Any = None


class ToolLine(msgspec.Struct, frozen=True, tag_field="type", tag="tool_use"):
    """A tool's call."""

    tool: Any = None
    text: Any = None


class AnswerLine(msgspec.Struct, frozen=True, tag_field="type", tag="tool_result"):
    """A tool's answer."""

    text: Any = None
    is_error: Any = None


class DenialLine(msgspec.Struct, frozen=True, tag_field="type", tag="denial"):
    """A permission that was refused."""

    rule: Any = None


class ResultLine(msgspec.Struct, frozen=True, tag_field="type", tag="result"):
    """How the turn ended."""

    session_id: str | None = None
    is_error: Any = None
    message: Any = None
    code: Any = None
    """Of the protocol's error; gemini's is the HTTP status."""


Line = SessionLine | TextLine | ToolLine | AnswerLine | DenialLine | ResultLine
EVENT_LINES = lines_of_types("session", "text", "tool_use", "tool_result", "denial", "result")


@cache
def _decoder() -> msgspec.json.Decoder[Line]:
    return msgspec.json.Decoder(Line)


def _events(line: Line) -> Iterator[Event]:
    match line:
        case SessionLine():
            yield Event(EventKind.SESSION, session_id=clean_session_id(line.session_id))
        case TextLine(text):
            yield Event(EventKind.TEXT, text=_words(text))
        case ToolLine():
            name, target = _words(line.tool)[:100] or "tool", _words(line.text, 200)
            text = f"{name}: {target}" if target else name
            yield Event(EventKind.TOOL_USE, text=text, tool=name)
        case AnswerLine():
            words = _words(line.text, ANSWER_LIMIT)
            yield Event(EventKind.TOOL_RESULT, text=words, is_error=line.is_error is True)
        case DenialLine():
            rule = _words(line.rule, 200) or "unknown"
            yield Event(EventKind.DENIAL, text=rule, tool=rule, is_error=True)
        case ResultLine():
            yield Event(
                EventKind.RESULT,
                text=_words(line.message),
                session_id=clean_session_id(line.session_id),
                is_error=line.is_error is True,
                status=_status(line.code),
            )


def _status(code: Any) -> int | None:
    return code if isinstance(code, int) and 400 <= code < 600 else None


def _words(text: Any, limit: int = 4_000) -> str:
    return excerpt(text, limit) if isinstance(text, str) else ""


EXECUTOR: type[Executor] = AcpExecutor
