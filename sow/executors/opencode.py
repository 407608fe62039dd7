"""OpenCode: `opencode run --format json`.

Owns its command line, its permissions and its events. Measured with 1.18.33:

- The id of a session comes with the first event, which follows the first answer of the model. A
  tool is told when it has ended. There is no last line: a step that ends with `stop` is the result.
- A permission that would be asked for ends the run with exit code 0, one that is denied does not.
- A resume needs the folder that the session began in.
- Of all rules the last that fits counts. The user's own settings are merged key by key with those
  that a variable brings, and keep their places: a `bash` of the user's before our `*` would be no
  use to anybody. So what agents of sow may do are the rules of an agent of sow's own, which come
  after all others; and by the variable everything is denied before them.
- Each command of a list (`&&`, `;`, `|`) and each in `$(…)` is looked for in the rules by itself,
  a redirection is not looked at. A rule that ends with ` *` fits the command without more words.
- Where the service says that a conversation is too long, it has the model make it shorter and asks
  again, without end; the prompt is lost in that.
- Of eight runs that begin in one home on a busy machine, one may leave before it has asked
  anything: `database is locked`. It has done nothing, and is begun again as one that has crashed.
- A command whose shell is killed by a signal is waited for until its time-out (two minutes).
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from sow.agent_clis.opencode import CLI
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
from sow.executors.metering import Span, token_count
from sow.executors.program_executor import JsonExecutor
from sow.executors.session import SessionSource
from sow.executors.stream import (
    clean_session_id,
    decode_line,
    excerpt,
    http_status,
    money,
    plausible_time,
    target_of,
)
from sow.schema.usage import Tokens

SKIPS = ("--auto",)
TITLE = "--title"
AGENT = "sow"
"""The agent whose rules hold in a run; a user may add to them in the CLI's own settings."""
OWN_AGENT = ("--agent", AGENT)
PERMISSIONS = (
    *("*", "read", "edit", "glob", "grep", "list", "bash", "task", "skill", "lsp", "question"),
    *("webfetch", "websearch", "codesearch", "todowrite", "todoread", "external_directory"),
    "doom_loop",
)
"""All that its rules are about. Each is named: one that the user's own settings have in another
place than `*` would hold otherwise."""
FILES = {"*": "allow"}
SECRETS = {"*.env": "deny", "*.env.*": "deny", "*.env.example": "allow"}
"""What it asks for by default before it is read."""
OUTSIDE = {"../*": "deny", ".git/*": "deny", "*/.git/*": "deny"}
"""Paths of files are matched as they lie from the top of the repository. Git's own name programs
that it runs."""
KEPT_OUTPUT = "*/opencode/tool-output/*"
"""Where it keeps the rest of a long answer of a command."""
DENIALS = ("rejected permission", "rule which prevents you from using")
OVERFLOW = "ContextOverflowError"
TARGETS = ("command", "filePath", "path", "pattern", "url", "query")
ANSWER_LIMIT = 2_000
LATEST_MILLISECONDS = 1 << 50
"""A whole number of JSON may be too large to be divided."""


class OpencodeExecutor(JsonExecutor, frozen=True):
    """Drives OpenCode."""

    cli = CLI
    session_source: ClassVar[SessionSource] = SessionSource.LEARNED

    def spawn(self, request: LaunchRequest) -> Launch:
        """Return the launch that begins a session; its id is told in the first event.

        It has a title of ours: for one of its own it would ask the model once more, and tell
        nobody what that cost.
        """
        is_named = any(word.partition("=")[0] == TITLE for word in self.config.custom_args)
        title = () if is_named else (TITLE, f"sow-{request.task_dir.name}")
        return self._launch(request, title)

    def resume(self, request: LaunchRequest) -> Launch:
        """Return the launch that continues `request.session`, in the folder that it began in."""
        return self._launch(request, ("-s", request.required_session.id))

    def read_line(self, line: bytes) -> tuple[Event, ...]:
        """Return what a line tells; nothing for noise. Never raises."""
        return tuple(event for each in decode_line(line, _decoder()) for event in _events(each))

    def read(self, data: bytes) -> Iterator[Event]:
        """Return the events of many lines."""
        return read_matching(data, EVENT_LINES, self.read_line)

    def classify(self, ending: Ending, seen: Observation) -> Verdict:
        """Return the cause of an ending without a status."""
        if ending.code == 0 and seen.result is None and seen.denied_tools:
            seen = replace(seen, result=Event(EventKind.RESULT))  # what was asked for has ended it
        return super().classify(ending, seen)

    def _launch(self, request: LaunchRequest, session: tuple[str, ...]) -> Launch:
        yolo = self.config.yolo_mode
        model = ("-m", self.config.model) if self.config.model else ()
        argv = (self.binary, "run", "--format", "json", *(SKIPS if yolo else OWN_AGENT), *model)
        folder = ("--dir", str(request.cwd))
        return Launch(
            argv=(*argv, *session, *folder, *self.config.custom_args),
            stdin=request.prompt,
            cwd=request.cwd,
            env={} if yolo else rights_for(request),
        )


def rights_for(request: LaunchRequest) -> dict[str, str]:
    """Return the variables by which an agent may do what is its, and nothing else.

    Nothing is left to be asked for: that would end the run.
    """
    agent = {"mode": "primary", "permission": permissions_for(request)}
    return {
        "OPENCODE_PERMISSION": json.dumps(dict.fromkeys(PERMISSIONS, "deny")),
        "OPENCODE_CONFIG_CONTENT": json.dumps({"agent": {AGENT: agent}}),
    }


def permissions_for(request: LaunchRequest) -> dict[str, Any]:
    """Return what an agent may do: its role's commands of sow, and work on files in its folder.

    A command that is denied is named only below one that is allowed, for each refusal tells the
    model all the rules; the longer of two is the later one.
    """
    allowed = set(request.commands)
    denied = [each for each in request.denied if _above(each) & allowed]
    ranked = sorted((*request.commands, *denied), key=lambda command: len(command.split()))
    bash = {f"sow {each} *": "allow" if each in allowed else "deny" for each in ranked}
    readable = {f"{folder}/*": "allow" for folder in request.readable}
    kept = (*request.readable, *request.unwritable)
    unwritable = {rule: "deny" for folder in kept for rule in _rules_of(folder, request.cwd)}
    return {
        "bash": bash,
        "read": {**FILES, **SECRETS},
        "edit": {**FILES, **OUTSIDE, **unwritable},
        **dict.fromkeys(("glob", "grep", "list", "todowrite"), "allow"),
        "external_directory": {**readable, KEPT_OUTPUT: "allow"},
    }


def _above(command: str) -> set[str]:
    """Return the beginnings of a command, without itself: `agent task` of `agent task state`."""
    words = command.split()
    return {" ".join(words[:count]) for count in range(1, len(words))}


def _rules_of(folder: Path, cwd: Path) -> Iterator[str]:
    """Yield how the paths of a folder's files may begin: where the repository's top is, it knows.

    Without a repository it is the root of the file system.
    """
    for top in (cwd, *cwd.parents):
        if folder.is_relative_to(top):
            yield f"{folder.relative_to(top)}/*"


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
    refused = state.get("status") == "error"
    failed = refused or _dict(state.get("metadata")).get("exit") not in (None, 0)
    words = excerpt(_words(state.get("error" if refused else "output")), ANSWER_LIMIT)
    yield Event(EventKind.TOOL_USE, text=f"{name}: {target}" if target else name, tool=name, at=at)
    yield Event(EventKind.TOOL_RESULT, text=words, is_error=failed, at=at)
    if refused and any(word in words for word in DENIALS):
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
        usd = money(part.get("cost")) or None  # 0 is what it says of a model without a price
        yield Event(EventKind.USAGE, message=excerpt(message, 200), tokens=tokens, cost_usd=usd)
    if part.get("reason") == "stop":
        yield Event(EventKind.RESULT, session_id=clean_session_id(session_id))


def _failed(error: dict[str, Any]) -> Event:
    data = _dict(error.get("data"))
    name = _words(error.get("name"))
    words = _words(data.get("message")) or name
    if name == OVERFLOW:
        words = f"{name}: {words}"  # the service's own words may be any
    status = http_status(data.get("statusCode"))
    return Event(EventKind.RESULT, text=words, is_error=True, status=status)


def _dict(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}


def _words(text: Any) -> str:
    return excerpt(text) if isinstance(text, str) else ""


def _seconds(milliseconds: Any) -> float | None:
    is_time = isinstance(milliseconds, int) and 0 < milliseconds < LATEST_MILLISECONDS
    return plausible_time(milliseconds / 1000) if is_time else None


EXECUTOR: type[Executor] = OpencodeExecutor
