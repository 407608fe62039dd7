"""Google's Gemini CLI, with its events as stream-json.

Owns its command line, its policy and its events. Measured with 0.61.0: the id of a session is ours
to choose; a resume keeps neither model nor permissions, and finds the session from the very same
folder only; its exit code is the HTTP status of a failed request modulo 256, and 0 after an empty
answer or a signal: only a result that says `success` is one.
"""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from sow.agent_clis.gemini import CLI
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
from sow.executors.endings import classify_ending
from sow.executors.lines import lines_of_types, read_matching
from sow.executors.metering import Span, token_count
from sow.executors.program_executor import JsonExecutor
from sow.executors.session import SessionSource
from sow.executors.stream import clean_session_id, decode_line, excerpt, parse_time, target_of
from sow.schema.usage import ModelUsage, Tokens, Totals

ENVIRONMENT = {"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_CLI_NO_RELAUNCH": "true"}
"""It refuses a folder that nobody has trusted; and without the second, what we start is a launcher
that passes no signal on (measured)."""
POLICY_FILE = "gemini-policy.toml"
SHELL = "run_shell_command"
DENIED = "denied by policy"
TARGETS = ("command", "file_path", "absolute_path", "path", "pattern", "url", "query")
ANSWER_LIMIT = 2_000
STATUSES = {status % 256: status for status in (400, 401, 403, 404, 429, 500, 502, 503, 504)}
"""The HTTP status that an exit code tells."""
MOST_MODELS = 50


class GeminiExecutor(JsonExecutor, frozen=True):
    """Drives the Gemini CLI."""

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
        if seen.api_status is None and ending.code in STATUSES:
            seen = replace(seen, api_status=STATUSES[ending.code])
        return classify_ending(ending, seen, self.cli, remedy=self.remedy)

    def _launch(self, request: LaunchRequest, session_flag: str) -> Launch:
        policy = request.prompt_file.with_name(POLICY_FILE)
        rights = ("-y",) if self.config.yolo_mode else ("--approval-mode", "auto_edit")
        model = ("-m", self.config.model) if self.config.model else ()
        session = (session_flag, request.required_session.id)
        argv = (self.binary, *rights, "--policy", str(policy), "-o", "stream-json", *model)
        return Launch(
            argv=(*argv, *session, *self.config.custom_args),
            stdin=request.prompt,
            cwd=request.cwd,
            env=ENVIRONMENT,
            files={POLICY_FILE: policy_for(request)},
        )


def policy_for(request: LaunchRequest) -> str:
    """Return the rules by which an agent may run its role's commands of sow, and no others."""
    allowed = (_rule(command, "allow") for command in request.commands)
    denied = (_rule(command, "deny") for command in request.denied)
    return "".join((*allowed, *denied))


def _rule(command: str, decision: str) -> str:
    prefix = json.dumps(f"sow {command}")
    priority = 200 if decision == "allow" else 300
    return (
        f'[[rule]]\ntoolName = "{SHELL}"\ncommandPrefix = {prefix}\n'
        f'decision = "{decision}"\npriority = {priority}\n\n'
    )


class InitLine(msgspec.Struct, frozen=True, tag_field="type", tag="init"):
    """The first line."""

    session_id: str | None = None
    model: Any = None


class MessageLine(msgspec.Struct, frozen=True, tag_field="type", tag="message"):
    """What the user or the model said; the latter in pieces."""

    role: Any = None
    content: Any = None
    timestamp: Any = None


class ToolLine(msgspec.Struct, frozen=True, tag_field="type", tag="tool_use"):
    """A tool's call."""

    tool_name: Any = None
    parameters: Any = None
    timestamp: Any = None


class AnswerLine(msgspec.Struct, frozen=True, tag_field="type", tag="tool_result"):
    """A tool's answer."""

    tool_id: Any = None
    status: Any = None
    output: Any = None
    error: Any = None
    timestamp: Any = None


class ResultLine(msgspec.Struct, frozen=True, tag_field="type", tag="result"):
    """The last line of a run that came to an end, good or bad."""

    status: Any = None
    error: Any = None
    stats: Any = None


Line = InitLine | MessageLine | ToolLine | AnswerLine | ResultLine
EVENT_LINES = lines_of_types("init", "message", "tool_use", "tool_result", "result")


@cache
def _decoder() -> msgspec.json.Decoder[Line]:
    return msgspec.json.Decoder(Line)


def _events(line: Line) -> Iterator[Event]:
    match line:
        case InitLine():
            session_id, model = clean_session_id(line.session_id), _words(line.model)[:100]
            yield Event(EventKind.SESSION, session_id=session_id, model=model, span=Span.RUN)
        case MessageLine(role="assistant"):
            at = parse_time(line.timestamp)
            yield Event(EventKind.TEXT, text=_words(line.content), at=at)
        case ToolLine():
            name, target = _words(line.tool_name)[:100], target_of(line.parameters, TARGETS)
            text, at = f"{name}: {target}" if target else name, parse_time(line.timestamp)
            yield Event(EventKind.TOOL_USE, text=text, tool=name, at=at)
        case AnswerLine():
            yield from _answer(line)
        case ResultLine():
            words = _message(line.error)
            yield Event(
                EventKind.RESULT,
                text=words,
                is_error=line.status != "success",
                totals=_totals(line.stats),
            )


def _answer(line: AnswerLine) -> Iterator[Event]:
    failed = line.status != "success"
    words = excerpt(_message(line.error) or _words(line.output), ANSWER_LIMIT)
    yield Event(EventKind.TOOL_RESULT, text=words, is_error=failed, at=parse_time(line.timestamp))
    if failed and DENIED in words:
        tool = _words(line.tool_id).partition("__")[0][:100] or "unknown"
        yield Event(EventKind.DENIAL, text=tool, tool=tool, is_error=True)


def _message(error: Any) -> str:
    return _words(error.get("message") if isinstance(error, dict) else error)


def _words(text: Any) -> str:
    return excerpt(text) if isinstance(text, str) else ""


def _totals(stats: Any) -> Totals | None:
    """Return what the run has used, by model; `input_tokens` counts the cached ones (measured)."""
    models = stats.get("models") if isinstance(stats, dict) else None
    if not isinstance(models, dict):
        return None
    some = list(models.items())[:MOST_MODELS]
    return Totals(models={excerpt(name, 100): _model(found) for name, found in some})


def _model(found: Any) -> ModelUsage:
    figures = found if isinstance(found, dict) else {}
    return ModelUsage(
        tokens=Tokens(
            input=token_count(figures.get("input")),
            output=token_count(figures.get("output_tokens")),
            cache_read=token_count(figures.get("cached")),
        )
    )


EXECUTOR: type[Executor] = GeminiExecutor
