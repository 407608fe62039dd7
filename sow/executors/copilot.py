"""GitHub's Copilot CLI, with its events as JSON lines.

Owns its command line and its events. Measured with 1.0.102:
* The id of a session is ours to choose. A resume goes back to the folder of the first run unless it
  is told another; it keeps the model and no permissions. A session can be resumed from its prompt
  on, before any answer.
* A rule that allows `shell(…)` counts the name of a program alone, but for some whose subcommands
  it knows (git, gh, npm): `shell(make test:*)` allows nothing. One that denies counts all its
  words, and holds against `--allow-all` too; other spellings of the same command pass it.
* `--add-dir` lets an agent read a folder and write there; `--deny-tool 'write(FOLDER/**)'` holds
  against that, by links and by `..` as well. A folder that is not there ends the run.
* A list of commands runs if each of them may. So does a read-only command inside its folders.
* A signal leaves an exit code of 0: after SIGTERM without a result, after SIGINT with one of 0. An
  `abort` goes before either.
* What stands at the end of a turn may be a background command that it waits for in silence.
* A resume after a prompt that was too long begins with a request for a summary of the conversation.
  It offers all tools, and the conversation goes on without what was before.
* Tokens are told nowhere in its events. They are in `session-state/ID/events.jsonl` of its home
  (`session.usage_record`), and in what `--usage-output-file` writes: of the whole session.
"""

import os
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar

import msgspec

from sow.agent_clis.copilot import CLI
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
from sow.executors.program_executor import JsonExecutor
from sow.executors.session import SessionSource
from sow.executors.stream import (
    clean_session_id,
    decode_line,
    excerpt,
    http_status,
    parse_time,
    target_of,
)
from sow.schema.causes import Cause

SKIPS = ("--allow-all",)
SOW = "shell(sow:*)"
ALLOWS_ALL = "COPILOT_ALLOW_ALL"
"""A variable that does what `--allow-all` does."""
OF_PATTERNS = re.compile(r"[\[\](){}*,!\\]")
"""What means something else in a rule than itself; `?` stands for any character there."""
TARGETS = ("command", "path", "fileName", "file_path", "pattern", "url", "query", "description")
ANSWER_LIMIT = 2_000
STATUSES = {
    **{"authentication": 401, "rate_limit": 429, "query": 400},
    **{"transient_auth_error": 401, "api_error": 500},
}
"""What kinds of errors, and reasons of another try, stand for where no status is told."""


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

    def skim(self, data: bytes) -> Iterator[Event]:
        """Return the events of many lines without what tools have answered: the most of all."""
        return read_matching(data, EVENT_LINES, _skim_line)

    def classify(self, ending: Ending, seen: Observation) -> Verdict:
        """Return the cause of an ending without a status: one by a signal is no success."""
        verdict = classify_ending(ending, seen, self.cli, remedy=self.remedy)
        if verdict.cause not in (Cause.NO_STATUS, Cause.DENIED):
            return verdict
        if why := _abort_in(ending.output_tail):
            return Verdict(Cause.CRASHED, f"the CLI was interrupted ({why})")
        if seen.result is None:
            return Verdict(Cause.CRASHED, "the CLI ended in the middle of its work")
        return verdict

    def _launch(self, request: LaunchRequest, session: tuple[str, ...]) -> Launch:
        model = ("--model", self.config.model) if self.config.model else ()
        argv = (self.binary, "--output-format", "json", *self._rights(request), *model)
        return Launch(
            argv=(*argv, *session, *self.config.custom_args),
            stdin=request.prompt,
            cwd=request.cwd,
            env={} if self.config.yolo_mode else {ALLOWS_ALL: "false"},
        )

    def _rights(self, request: LaunchRequest) -> tuple[str, ...]:
        refused = tuple(_refusals(request, is_free=self.config.yolo_mode))
        denying = ("--deny-tool", *refused) if refused else ()
        if self.config.yolo_mode:
            return (*SKIPS, *denying)
        allowed = (*((SOW,) if request.commands else ()), "write", *self.config.allowed_tools)
        added = (word for folder in request.readable for word in ("--add-dir", str(folder)))
        return ("--allow-tool", *allowed, *denying, *added)


def _refusals(request: LaunchRequest, *, is_free: bool) -> Iterator[str]:
    """Yield the rules that hold against any other, `--allow-all` too.

    One for `sow worker` with anything behind it would refuse `sow worker list` too: where that is
    allowed, the bare command alone is refused. What is in `.git` git runs, for other people too.
    """
    for command in request.denied:
        has_allowed = any(other.startswith(f"{command} ") for other in request.commands)
        yield f"shell(sow {command})" if has_allowed else f"shell(sow {command}:*)"
    own = () if is_free else (request.cwd / ".git",)
    for folder in (*own, *request.readable, *request.unwritable):
        # A file's path is compared as it is and without its links, a rule's only as it is.
        yield f"write({OF_PATTERNS.sub('?', os.path.realpath(folder))}/**)"


class PromptLine(msgspec.Struct, frozen=True, tag_field="type", tag="user.message"):
    """A prompt; the session is kept from the first one on (measured)."""


class TurnLine(msgspec.Struct, frozen=True, tag_field="type", tag="assistant.turn_start"):
    """A request of the model begins; `agentId` is that of a subagent."""

    agentId: Any = None  # noqa: N815 - the CLI's own name


class TurnEndLine(msgspec.Struct, frozen=True, tag_field="type", tag="assistant.turn_end"):
    """It has been answered, and its tools have."""

    agentId: Any = None  # noqa: N815


class SpokenLine(msgspec.Struct, frozen=True, tag_field="type", tag="assistant.message"):
    """What the model said, whole."""

    data: Any = None
    timestamp: Any = None
    agentId: Any = None  # noqa: N815


class StartLine(msgspec.Struct, frozen=True, tag_field="type", tag="tool.execution_start"):
    """A tool's call."""

    data: Any = None
    timestamp: Any = None


class BriefAnswer(msgspec.Struct, frozen=True):
    """How a tool has ended, without what it has answered."""

    toolCallId: Any = None  # noqa: N815 - the CLI's own names
    success: Any = None
    error: Any = None
    toolTelemetry: Any = None  # noqa: N815


class Answer(BriefAnswer, frozen=True):
    """The same with it."""

    result: Any = None


class EndLine(msgspec.Struct, frozen=True, tag_field="type", tag="tool.execution_complete"):
    """A tool's answer."""

    data: Answer = Answer()
    timestamp: Any = None


class BriefEnd(msgspec.Struct, frozen=True, tag_field="type", tag="tool.execution_complete"):
    """The same, as an observation needs it."""

    data: BriefAnswer = BriefAnswer()
    timestamp: Any = None


class RetryLine(msgspec.Struct, frozen=True, tag_field="type", tag="assistant.turn_retry"):
    """A failed request that is tried again."""

    data: Any = None


class FailureLine(msgspec.Struct, frozen=True, tag_field="type", tag="session.error"):
    """A request that has failed for good."""

    data: Any = None
    agentId: Any = None  # noqa: N815


class ResultLine(msgspec.Struct, frozen=True, tag_field="type", tag="result"):
    """The last line of a run that came to an end."""

    sessionId: str | None = None  # noqa: N815 - the CLI's own name
    exitCode: Any = None  # noqa: N815


class AbortLine(msgspec.Struct, frozen=True, tag_field="type", tag="abort"):
    """A run is being ended by a signal."""

    data: Any = None


Line = (
    PromptLine
    | TurnLine
    | TurnEndLine
    | SpokenLine
    | StartLine
    | EndLine
    | RetryLine
    | FailureLine
    | ResultLine
    | AbortLine
)
Brief = (
    PromptLine
    | TurnLine
    | TurnEndLine
    | SpokenLine
    | StartLine
    | BriefEnd
    | RetryLine
    | FailureLine
    | ResultLine
    | AbortLine
)
EVENT_LINES = lines_of_types(
    *("user.message", "assistant.turn_start", "assistant.turn_end", "assistant.message"),
    *("tool.execution_start", "tool.execution_complete"),
    *("assistant.turn_retry", "session.error", "result"),
)
ABORT_LINES = lines_of_types("abort")
RULE = re.compile(r"following rules: `([^`]{1,200})`")
WAITS = Event(EventKind.BACKGROUND, count=1)
"""What is between two turns: if anything goes on, it is its own commands and subagents."""


@cache
def _decoder() -> msgspec.json.Decoder[Line]:
    return msgspec.json.Decoder(Line)


@cache
def _brief_decoder() -> msgspec.json.Decoder[Brief]:
    return msgspec.json.Decoder(Brief)


def _skim_line(line: bytes) -> tuple[Event, ...]:
    return tuple(event for each in decode_line(line, _brief_decoder()) for event in _events(each))


def _events(line: Line | BriefEnd) -> Iterator[Event]:
    match line:
        case PromptLine():
            yield Event(EventKind.SESSION, is_kept=True)
        case TurnLine(agentId=None):
            yield Event(EventKind.BACKGROUND)
        case TurnEndLine(agentId=None):
            yield WAITS
        case SpokenLine(agentId=None):
            words = _words(_dict(line.data).get("content"))
            if words:
                yield Event(EventKind.TEXT, text=words, at=parse_time(line.timestamp))
        case StartLine():
            data, at = _dict(line.data), parse_time(line.timestamp)
            name = _words(data.get("toolName"))[:100]
            target = target_of(data.get("arguments"), TARGETS)
            text = f"{name}: {target}" if target else name
            call = _words(data.get("toolCallId"))[:100]
            yield Event(EventKind.TOOL_USE, text=text, tool=name, call=call, at=at)
        case EndLine() | BriefEnd():
            yield from _answer(line.data, parse_time(line.timestamp))
        case RetryLine():
            data = _dict(line.data)
            yield Event(EventKind.API_RETRY, text=_words(data.get("reason")), status=_status(data))
        case FailureLine(agentId=None):
            data = _dict(line.data)
            words = _words(data.get("message"))
            yield Event(EventKind.BACKGROUND)
            yield Event(EventKind.RESULT, text=words, is_error=True, status=_status(data))
        case ResultLine(exitCode=0):
            yield Event(EventKind.BACKGROUND)
            yield Event(EventKind.RESULT, session_id=clean_session_id(line.sessionId))


def _answer(data: Answer | BriefAnswer, at: float | None) -> Iterator[Event]:
    failed, error = data.success is not True, _dict(data.error)
    content = _dict(data.result).get("content") if isinstance(data, Answer) else None
    words = _words(error.get("message")) or _words(content)
    yield Event(EventKind.TOOL_RESULT, text=excerpt(words, ANSWER_LIMIT), is_error=failed, at=at)
    if error.get("code") == "denied":
        yield _denied(words, data)


def _denied(words: str, data: Answer | BriefAnswer) -> Event:
    """Return what was denied: by which rule, else with which tool.

    The line names the tool for those that work on files alone. What a command was stands in the
    line of its start.
    """
    properties = _dict(_dict(data.toolTelemetry).get("properties"))
    rule = RULE.search(words)
    tool = rule[1] if rule else _words(properties.get("command"))[:100]
    call = "" if tool else _words(data.toolCallId)[:100]
    name = tool or "shell"
    return Event(EventKind.DENIAL, text=name, tool=name, call=call, is_error=True)


def _abort_in(output: str) -> str:
    """Return why a run was aborted, by the end of its output; empty if it was not."""
    for line in output.encode().splitlines():
        for each in decode_line(line, _decoder()) if ABORT_LINES.search(line) else ():
            if isinstance(each, AbortLine):
                return _words(_dict(each.data).get("reason")) or "abort"
    return ""


def _status(data: dict[str, Any]) -> int | None:
    kind = data.get("errorType") or data.get("reason")
    return http_status(data.get("statusCode")) or STATUSES.get(_words(kind))


def _dict(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}


def _words(text: Any) -> str:
    return excerpt(text) if isinstance(text, str) else ""


EXECUTOR: type[Executor] = CopilotExecutor
