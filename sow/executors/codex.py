"""OpenAI's Codex: `codex exec --json`.

Owns its command line, its rules and its events. Measured with 0.171.0: the id of a session comes
with the first event; a resume keeps neither model nor sandbox; an id that is no UUID begins another
conversation in silence (`AgentCli.keeps_ids`). Its sandbox lets an agent write in its folder, in
the system's temporary one and in what `--add-dir` names, without network; a single command that a
rule allows runs outside of it, one in a list or with a redirection inside.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from sow.agent_clis.codex import CLI
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
from sow.executors.stream import clean_session_id, decode_line, excerpt
from sow.schema.causes import Cause
from sow.schema.usage import ModelUsage, Tokens, Totals

SETTINGS = ("-c", "allow_login_shell=false", "-c", "analytics.enabled=false")
"""A login shell would lose the PATH on which `sow` is; the analytics wait 5 s at the end."""
SKIPS = ("--dangerously-bypass-approvals-and-sandbox",)
RULES_FILE = "rules/sow.rules"
ANSWER_LIMIT = 2_000
"""How much is kept of what a command answers, in characters."""
RETRY = re.compile(r"Reconnecting\.\.\. (\d{1,3})/")
STATUS = re.compile(r"status:? (\d{3})\b")
FORBIDDEN = re.compile(r"policy forbids commands starting with `([^`]{1,200})`")
"""What stands on standard error where a rule has refused a command; no event tells of it."""
UNARMED = "could not create PATH aliases"
"""What it writes to standard error where another one that has just begun in the same home took its
folder for an old one and removed it. It goes on, and each command fails in its own sandbox; one
without that sandbox does not."""
WITHOUT_COMMANDS = "it could run no command: another Codex began in the same home at that moment"
DETAILS = re.compile(r", data: \{.*\}$", re.MULTILINE)
"""What follows the words of a refused request: an object, and such a line would be taken for one of
its events."""
WORK = {"command_execution": "shell", "mcp_tool_call": "mcp", "collab_tool_call": "agent"}
"""The items that begin and end, each with the name of its tool."""
DONE_AT_ONCE = {"file_change": "edit", "web_search": "search"}
"""Those that are counted when they end (from the CLI's documents, not run by us)."""


class CodexExecutor(JsonExecutor, frozen=True):
    """Drives Codex."""

    cli = CLI
    session_source: ClassVar[SessionSource] = SessionSource.LEARNED
    has_terminal_mode: ClassVar[bool] = True

    def spawn(self, request: LaunchRequest) -> Launch:
        """Return the launch that begins a session; its id is told in the first event."""
        return self._launch(request, ())

    def resume(self, request: LaunchRequest) -> Launch:
        """Return the launch that continues `request.session`, with all flags again."""
        return self._launch(request, ("resume", request.required_session.id))

    def take_over(self, request: LaunchRequest) -> Launch:
        """Return the launch that opens `request.session` on a terminal: it asks there."""
        argv = (self.binary, "resume", request.required_session.id, *self._rights(request))
        argv = (*argv, *SETTINGS, *self._model(), *self.config.custom_args)
        return self._made(request, argv, "")

    def begin_on_terminal(self, request: LaunchRequest) -> Launch:
        """Return the launch that begins a session on a terminal: its first message is an argument.

        It has no flag for instructions, so the message holds them.
        """
        message = "\n\n".join(filter(None, (request.instructions, request.prompt)))
        argv = (self.binary, *SETTINGS, *self._model(), *self.config.custom_args, "--", message)
        return self._made(request, argv, "")

    def read_line(self, line: bytes) -> tuple[Event, ...]:
        """Return what a line tells; nothing for noise. Never raises."""
        return read_codex_line(line)

    def read(self, data: bytes) -> Iterator[Event]:
        """Return the events of many lines."""
        return read_matching(data, EVENT_LINES, self.read_line)

    def skim(self, data: bytes) -> Iterator[Event]:
        """Return the events of many lines without what commands have printed: the most of all."""
        return read_matching(data, EVENT_LINES, _skim_line)

    def classify(self, ending: Ending, seen: Observation) -> Verdict:
        """Return the cause of an ending without a status."""
        refused = tuple(dict.fromkeys(FORBIDDEN.findall(ending.stderr_tail)))
        seen = replace(seen, denied_tools=(*seen.denied_tools, *refused))
        ending = replace(ending, stderr_tail=DETAILS.sub("", ending.stderr_tail))
        verdict = classify_ending(ending, seen, self.cli, remedy=self.remedy)
        is_unarmed = self._fences_itself and UNARMED in ending.stderr_tail
        if verdict.cause is Cause.NO_STATUS and is_unarmed:
            return Verdict(Cause.CRASHED, WITHOUT_COMMANDS)
        failed = seen.result is not None and seen.result.is_error
        if failed and verdict.cause is Cause.CRASHED and ending.signal is None:
            return replace(verdict, cause=Cause.API_ERROR)  # only the service fails a turn
        return verdict

    def _launch(self, request: LaunchRequest, session: tuple[str, ...]) -> Launch:
        argv = (self.binary, "exec", "--json", "--skip-git-repo-check", *self._rights(request))
        argv = (*argv, *SETTINGS, *self._model(), *self.config.custom_args, *session, "-")
        return self._made(request, argv, request.prompt)

    def _made(self, request: LaunchRequest, argv: tuple[str, ...], stdin: str) -> Launch:
        own = {} if request.home is None else {RULES_FILE: rules_for(request)}
        env = {} if request.home is None else {"CODEX_HOME": str(request.home)}
        return Launch(argv=argv, stdin=stdin, cwd=request.cwd, env=env, home_files=own)

    @property
    def _fences_itself(self) -> bool:
        """Whether its commands run in its own sandbox."""
        return not (self.config.yolo_mode or self.config.is_sandboxed)

    def _rights(self, request: LaunchRequest) -> tuple[str, ...]:
        if not self._fences_itself:
            return SKIPS  # in another sandbox its own may fail, with exit code 0 (measured)
        own = () if request.checkout is None else (request.cwd / ".git",)  # of its clone alone
        folders = (*request.writable, *own)
        added = (word for folder in folders for word in ("--add-dir", str(folder)))
        return ("-s", "workspace-write", *added)

    def _model(self) -> tuple[str, ...]:
        return ("-m", self.config.model) if self.config.model else ()


class Item(msgspec.Struct, frozen=True):
    """A part of a turn: what the agent said, a command, a change of a file."""

    type: str = ""
    text: Any = None
    command: Any = None
    aggregated_output: Any = None
    exit_code: Any = None
    status: Any = None
    changes: Any = None
    query: Any = None
    tool: Any = None


class ThreadLine(msgspec.Struct, frozen=True, tag_field="type", tag="thread.started"):
    """The first line: which session it is."""

    thread_id: str | None = None


class BriefItem(msgspec.Struct, frozen=True):
    """The same without what a command has printed."""

    type: str = ""
    text: Any = None
    command: Any = None
    exit_code: Any = None
    status: Any = None
    changes: Any = None
    query: Any = None
    tool: Any = None


class StartLine(msgspec.Struct, frozen=True, tag_field="type", tag="item.started"):
    """Something begins."""

    item: Item = Item()


class EndLine(msgspec.Struct, frozen=True, tag_field="type", tag="item.completed"):
    """Something has ended; most things are told only then."""

    item: Item = Item()


class BriefEnd(msgspec.Struct, frozen=True, tag_field="type", tag="item.completed"):
    """As `EndLine`."""

    item: BriefItem = BriefItem()


class ErrorLine(msgspec.Struct, frozen=True, tag_field="type", tag="error"):
    """A failed request, tried again or not; `turn.failed` says the last one once more."""

    message: Any = None


class CompletedLine(msgspec.Struct, frozen=True, tag_field="type", tag="turn.completed"):
    """The turn has ended well."""

    usage: Any = None
    """Of the whole thread, all its runs (measured)."""


class Failure(msgspec.Struct, frozen=True):
    """Why a turn has failed."""

    message: Any = None


class Body(msgspec.Struct, frozen=True):
    """What the service answers to a request that it refuses."""

    error: Failure = Failure()


class FailedLine(msgspec.Struct, frozen=True, tag_field="type", tag="turn.failed"):
    """The turn has failed."""

    error: Failure = Failure()


Line = ThreadLine | StartLine | EndLine | ErrorLine | CompletedLine | FailedLine
Brief = ThreadLine | StartLine | BriefEnd | ErrorLine | CompletedLine | FailedLine
EVENT_LINES = lines_of_types(
    *("thread.started", "item.started", "item.completed", "error"),
    *("turn.completed", "turn.failed"),
)


@cache
def _decoder() -> msgspec.json.Decoder[Line]:
    return msgspec.json.Decoder(Line)


@cache
def _brief_decoder() -> msgspec.json.Decoder[Brief]:
    return msgspec.json.Decoder(Brief)


def read_codex_line(line: bytes) -> tuple[Event, ...]:
    """Return what a line of Codex's events tells; nothing for noise. Never raises."""
    return tuple(event for each in decode_line(line, _decoder()) for event in _events(each))


def _skim_line(line: bytes) -> tuple[Event, ...]:
    return tuple(event for each in decode_line(line, _brief_decoder()) for event in _events(each))


def _events(line: Line | BriefEnd) -> Iterator[Event]:
    match line:
        case ThreadLine():
            session_id = clean_session_id(line.thread_id)
            yield Event(EventKind.SESSION, session_id=session_id, span=Span.SESSION)
        case StartLine(item) if item.type in WORK:
            yield _call(WORK[item.type], item)
        case EndLine(item):
            yield from _ended(item, excerpt(_words(item.aggregated_output), ANSWER_LIMIT))
        case BriefEnd(item):
            yield from _ended(item, "")
        case ErrorLine(message):
            yield from _retry(_words(message))
        case CompletedLine():
            yield Event(EventKind.RESULT, totals=_totals(line.usage))
        case FailedLine(error):
            words = _failure(error.message)
            yield Event(EventKind.RESULT, text=words, is_error=True, status=_status(words))


def _ended(item: Item | BriefItem, answer: str) -> Iterator[Event]:
    if item.type == "agent_message":
        yield Event(EventKind.TEXT, text=_words(item.text))
    if item.type in DONE_AT_ONCE:
        yield _call(DONE_AT_ONCE[item.type], item)
    if item.type in WORK or item.type in DONE_AT_ONCE:
        failed = item.status in ("failed", "declined") or item.exit_code not in (None, 0)
        yield Event(EventKind.TOOL_RESULT, text=answer, is_error=failed)
    if item.status == "declined":
        rule = _words(item.command) or item.type
        yield Event(EventKind.DENIAL, text=rule, tool=rule, is_error=True)


def _call(name: str, item: Item | BriefItem) -> Event:
    """Return a tool's call for people: `shell: npm test`."""
    found = (item.command, item.query, item.tool, _paths(item.changes))
    target = next((excerpt(word, 200) for word in found if isinstance(word, str) and word), "")
    return Event(EventKind.TOOL_USE, text=f"{name}: {target}" if target else name, tool=name)


def _paths(changes: Any) -> str:
    entries = changes if isinstance(changes, list) else []
    paths = (entry.get("path") for entry in entries if isinstance(entry, dict))
    return ", ".join(path for path in paths if isinstance(path, str))


def _retry(words: str) -> Iterator[Event]:
    if found := RETRY.search(words):
        count = int(found[1])
        yield Event(EventKind.API_RETRY, text=words, status=_status(words), count=count)


def _failure(message: Any) -> str:
    """Return the words of a failure; it may be the body of the service's answer (measured)."""
    words = _words(message)
    if not words.startswith("{"):
        return words
    try:
        found = msgspec.json.decode(words, type=Body)
    except msgspec.MsgspecError:
        return words
    return _words(found.error.message) or words


def _status(words: str) -> int | None:
    found = STATUS.search(words)
    return int(found[1]) if found else None


def _words(text: Any) -> str:
    return excerpt(text) if isinstance(text, str) else ""


def _totals(usage: Any) -> Totals | None:
    """Return what the thread has used; `input_tokens` counts the cached ones as well (measured)."""
    if not isinstance(usage, dict):
        return None
    cached = token_count(usage.get("cached_input_tokens"))
    tokens = Tokens(
        input=max(0, token_count(usage.get("input_tokens")) - cached),
        output=token_count(usage.get("output_tokens")),
        cache_read=cached,
        cache_write=token_count(usage.get("cache_write_input_tokens")),
    )
    return Totals(models={"": ModelUsage(tokens=tokens)})


def rules_for(request: LaunchRequest) -> str:
    """Return the rules by which an agent may run its role's commands of sow, and no others."""
    allowed = (_rule(command, "allow") for command in request.commands)
    forbidden = (_rule(command, "forbidden") for command in request.denied)
    return "".join(f"{rule}\n" for rule in (*allowed, *forbidden))


def _rule(command: str, decision: str) -> str:
    pattern = json.dumps(["sow", *command.split()])
    return f'prefix_rule(pattern={pattern}, decision="{decision}")'


EXECUTOR: type[Executor] = CodexExecutor
