"""Qwen Code, with its events as stream-json: the forms of Claude Code's, with other figures.

Owns its command line, how a prompt reaches its model as it stands, and what differs in its events.
Measured with 0.24.4:

- The id of a session is ours to choose; a resume keeps neither model nor permissions.
- `usage` of a result counts the whole session, that of a message its own request; input counts the
  cached tokens too. A message comes once, when it is whole.
- A 429 is tried again, 28 requests in 95 s, before the first word of it; then up to ten times as
  many, with pauses of one to five minutes. No event tells the status: it stands on standard error.
- A rule that allows a command allows a list of such commands, and one with a redirection, a
  variable or another command inside: it is no fence. A rule that excludes one holds inside of
  lists, and in yolo mode.
- In the mode `auto-edit` its tools write files anywhere; in `default` only where a rule allows it.
  What `edit(PATH)` excludes no tool writes, nor a redirection. Files are read everywhere.
- Its shell refuses a `sleep` of some seconds that stands alone or first.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

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
from sow.executors.claude_stream import (
    MOST_FAILURES,
    Denial,
    Message,
    answers,
    denied_rule,
    model_name,
    spoken,
)
from sow.executors.endings import classify_ending
from sow.executors.lines import lines_of_types, read_matching
from sow.executors.metering import Span, token_count
from sow.executors.program_executor import JsonExecutor
from sow.executors.session import SessionSource
from sow.executors.stream import clean_session_id, decode_line, excerpt
from sow.schema.causes import Cause
from sow.schema.usage import ModelUsage, Tokens, Totals
from sow.user_folders import home_in

SKIPS = ("--approval-mode", "yolo")
ASKS = ("--approval-mode", "default")
FILE_RULES = ("edit(/**)", "write_file(/**)", "notebook_edit(/**)")
"""What lets its tools write in the agent's folder, where such a path begins."""
GIT_FOLDER = "edit(/.git/**)"
SHELL = "run_shell_command"
COMMAND_TEXT = """\
---
description: Passes on what sow has to say, as it stands
disable-model-invocation: true
---
{{args}}
"""
"""A command of its own whose text is its arguments: these are searched for nothing."""
COMMANDLESS = frozenset({"--bare", "--safe-mode"})
"""With these it knows no such command."""
BARE_AT = re.compile(r"(?<!\\)@")
DEFAULTS_FILE = "qwen-defaults.json"
DEFAULTS = '{"memory": {"enableManagedAutoMemory": false}}\n'
"""What the user's own settings go before. Its memory asks the model once more after a run, and
keeps in the user's home what one task has told (measured)."""
DEFAULTS_VARIABLE = "QWEN_CODE_SYSTEM_DEFAULTS_PATH"
ADMINISTRATORS = (
    Path("/etc/qwen-code/system-defaults.json"),
    Path("/Library/Application Support/QwenCode/system-defaults.json"),
)
"""Where the same may stand for all users of a machine: it is left in force."""
API_ERROR = "[API Error: "
API_STATUS = re.compile(r"API Error: (\d{3})\b")
PROMPT_LINE = re.compile(rb'"type":"user"')
USAGE_END = re.compile(r"^-h, --help\s+Show help")
"""The last line of its usage. That is longer than what is kept of standard error: the line above
it, which names the flag, is lost."""


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

    def transcripts(self, session_id: str, environ: Mapping[str, str]) -> Iterable[Path]:
        """Return the session's file: one in a folder for each project (measured)."""
        named = environ.get("QWEN_HOME")
        home = Path(named) if named else home_in(environ) / ".qwen"
        return home.glob(f"projects/*/chats/{session_id}.jsonl")

    def holds_conversation(self, transcript: bytes) -> bool:
        """Return whether a prompt stands in it.

        It is made empty. Killed then, a resume knows no such session, and a spawn may have its id;
        with the prompt in it, it is the other way round (measured).
        """
        return PROMPT_LINE.search(transcript) is not None

    def classify(self, ending: Ending, seen: Observation) -> Verdict:
        """Return the cause of an ending without a status."""
        verdict = classify_ending(ending, seen, self.cli, remedy=self.remedy)
        if verdict.cause is Cause.BAD_FLAGS and USAGE_END.match(verdict.reason):
            return replace(verdict, reason="qwen refuses its command line, and prints its usage")
        return verdict

    def _launch(self, request: LaunchRequest, session_flag: str) -> Launch:
        model = ("-m", self.config.model) if self.config.model else ()
        session = (session_flag, request.required_session.id)
        argv = (self.binary, "-o", "stream-json", *self._rights(request), *model)
        defaults = request.prompt_file.with_name(DEFAULTS_FILE)
        is_ours = not _has_defaults(request.environ)
        name = _command_name(request)
        return Launch(
            argv=(*argv, *session, *self.config.custom_args),
            stdin=self._words(request),
            cwd=request.cwd,
            env={DEFAULTS_VARIABLE: str(defaults)} if is_ours else {},
            files={DEFAULTS_FILE: DEFAULTS} if is_ours else {},
            home_files={f"commands/{name}.md": COMMAND_TEXT} if request.home is not None else {},
        )

    def _rights(self, request: LaunchRequest) -> tuple[str, ...]:
        """Return its permissions: what is allowed here is no fence (measured)."""
        refused = (
            *_commands(request.denied),
            *(f"edit(/{folder}/**)" for folder in request.unwritable),
        )
        if self.config.yolo_mode:
            return (*SKIPS, *_rules("--exclude-tools", refused))
        allowed = (*_commands(request.commands), *FILE_RULES, *self.config.allowed_tools)
        return (
            *(*ASKS, *_rules("--allowed-tools", allowed)),
            *_rules("--exclude-tools", (*refused, GIT_FOLDER)),
        )

    def _words(self, request: LaunchRequest) -> str:
        """Return the prompt in a form that reaches the model as text.

        Qwen Code carries out a prompt that begins with `/`, and looks for a file, a session and
        more behind every `@`; where there is none it still puts a blank before it (measured). What
        a command of the session's own home has as its arguments is left alone, but for a `$`, of
        which two stand for one, and blanks at both ends. Without such a home, a `@` behind a
        backslash is left alone, and the model sees the backslash.
        """
        prompt = request.prompt
        if "@" not in prompt and not prompt.startswith("/"):
            return prompt
        if request.home is not None and not COMMANDLESS.intersection(self.config.custom_args):
            return f"/{_command_name(request)} {prompt.replace('$', '$$')}"
        return BARE_AT.sub(r"\\@", f"\n{prompt}" if prompt.startswith("/") else prompt)


def _command_name(request: LaunchRequest) -> str:
    """Return a name that no file of a repository has: one there would go before the session's."""
    return f"sow-{request.required_session.id}"


def _commands(commands: tuple[str, ...]) -> tuple[str, ...]:
    """Return the rules for commands of sow."""
    return tuple(f"{SHELL}(sow {command})" for command in commands)


def _rules(flag: str, rules: tuple[str, ...]) -> tuple[str, ...]:
    return (flag, ",".join(rules)) if rules else ()


def _has_defaults(environ: Mapping[str, str]) -> bool:
    """Whether somebody has set defaults: none of ours, which a call from an agent passes on."""
    named = environ.get(DEFAULTS_VARIABLE)
    if named:
        return Path(named).name != DEFAULTS_FILE
    moved = environ.get("QWEN_CODE_SYSTEM_SETTINGS_PATH")
    places = (Path(moved).with_name("system-defaults.json"),) if moved else ADMINISTRATORS
    return any(place.exists() for place in places)


class SystemLine(msgspec.Struct, frozen=True, tag_field="type", tag="system"):
    """`init` names the session; `retry` tells of a failed request, and no status."""

    subtype: Any = None
    session_id: str | None = None
    model: Any = None
    data: Any = None


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
    num_turns: Any = None
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
            yield Event(EventKind.API_RETRY, count=_attempt(line.data))
        case AssistantLine(message):
            events = spoken(message, None)
            yield from (event for event in events if not event.text.startswith(API_ERROR))
            tokens = _tokens(message.usage)
            if tokens.total and isinstance(message.id, str):
                model = model_name(message.model)
                yield Event(
                    EventKind.USAGE, message=excerpt(message.id, 200), model=model, tokens=tokens
                )
        case UserLine(message):
            yield from answers(message, None)
        case ResultLine():
            yield from _result(line)


def _result(line: ResultLine) -> Iterator[Event]:
    for denial in line.permission_denials or ():
        rule = denied_rule(denial, SHELL)
        tool = SHELL if "," in rule else rule  # it takes a comma for the end of a rule
        yield Event(EventKind.DENIAL, text=tool, tool=tool, is_error=True)
    words = _words(line.error.message) if line.error is not None else _words(line.result)
    # Without a key it ends in a result with an id, and keeps no session (measured).
    began = not (line.is_error and not line.num_turns)
    status = API_STATUS.search(words) if line.is_error else None
    yield Event(
        EventKind.RESULT,
        text=words,
        session_id=clean_session_id(line.session_id) if began else None,
        is_error=line.is_error,
        status=int(status[1]) if status else None,
        totals=Totals(models={"": ModelUsage(tokens=_tokens(line.usage))}) if began else None,
    )


def _attempt(data: Any) -> int:
    """Return which failure of one request it is, where that is told; else 0."""
    attempt = token_count(data.get("attempt")) if isinstance(data, dict) else 0
    return attempt if attempt < MOST_FAILURES else 0


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
