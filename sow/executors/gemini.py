"""Google's Gemini CLI, with its events as stream-json.

Owns its command line, its policy, the form of its prompt and its events. Measured with 0.61.0: the
id of a session is ours to choose; a resume keeps neither model nor permissions, and finds the
session from the very same folder only; its exit code is the HTTP status of a failed request modulo
256, and 0 after an empty answer or a signal: only a result that says `success` is one.

A prompt is not text to it. `@NAME`, also inside a word, is replaced by the content of a file whose
path *contains* NAME, and `/NAME` at its beginning by the user's command of that name. What a user's
command answers is not looked through again, and it ends with the prompt as it was given. So where
the session has a home of its own, a command of sow's lies there, and the prompt is its argument.
In a shared home each such `@` gets a backslash, which its model sees too.

Its policy looks at each command of a list, a pipe or a substitution, and takes the first rule by
priority. `--policy` stands in for the user's own folder of rules, which is therefore named as well.
In mode `auto_edit` it lets an allowed command write anywhere by a redirection; in `default` it does
not, so that is the mode, and rules allow edits in the workspace. It never lets an agent write
below `.git`, nor files by which a project is built (`package.json`, `Makefile`, …), by its tools.

When it starts it removes old sessions, and with them all files of one of which a file has no
message yet. That is so for a moment when another run goes on with a session: of eight that share a
home some lose theirs. Only a setting of the user's stops it (`general.sessionRetention.enabled`).

It sends each answer of a tool twice to its model when it goes on with a session. What the real
service makes of that we do not know.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
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
from sow.executors.executor_errors import CommaInPath
from sow.executors.lines import lines_of_types, read_matching
from sow.executors.metering import Span, token_count
from sow.executors.program_executor import JsonExecutor
from sow.executors.session import SessionSource
from sow.executors.stream import clean_session_id, decode_line, excerpt, parse_time, target_of
from sow.schema.causes import Cause
from sow.schema.usage import ModelUsage, Tokens, Totals

Words = str | list[str]

ENVIRONMENT = {"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_CLI_NO_RELAUNCH": "true"}
"""It refuses a folder that nobody has trusted; and without the second, what we start is a launcher
that passes no signal on (measured)."""
HOME_VARIABLE = "GEMINI_CLI_HOME"
POLICY_FILE = "gemini-policy.toml"
COMMA = ","
"""In an argument it ends a path for the CLI, and nothing escapes it (measured)."""
LINK = "sow-link-"
SHELL = "run_shell_command"
EDITORS = ["write_file", "replace"]
PLANNING = "enter_plan_mode"
"""By this an agent would leave the mode that it was given, and come back into another one."""
ALLOWED, JOINED, FIRST = 200, 201, 999
"""The priorities of rules. There is none above the last; of two rules with that, the one in the
file named first counts, which is ours."""
OWN = r'"file_path":"\.gemini/', r'"file_path":"[^"]*/\.gemini/'
"""The CLI's own settings in a folder: what they name is run when it starts there again."""
GUARDED = ["default", "autoEdit", "plan"]
"""All modes but `yolo`."""
DETOURS = r"\.\./", r"/\./", "//"
"""Ways to write a path by which a rule for a folder would be passed."""
CHECKER = """[[safety_checker]]
toolName = ["write_file", "replace"]
priority = 200

[safety_checker.checker]
type = "in-process"
name = "allowed-path"
required_context = ["environment"]

"""
"""Has the CLI look whether a file lies in its workspace, as its own rules for edits do."""
READ_AS_PATH = re.compile(r"(?<!\\)@(?=[^\s,;!?()\[\]{}])")
"""What begins the name of a file in a prompt, and is text to everybody else."""
POLICY_VIOLATION = "policy_violation"
UNASKED = "requires user confirmation"
"""How a denied tool is answered where no rule speaks of it, such as a redirection."""
TARGETS = ("command", "file_path", "absolute_path", "path", "pattern", "url", "query")
ANSWER_LIMIT = 2_000
STATUSES = {status % 256: status for status in (400, 401, 403, 404, 429, 500, 502, 503, 504)}
"""The HTTP status that an exit code tells."""
STATUS = re.compile(r"^ *(?:status|code): (\d{3})$", re.MULTILINE)
"""How standard error tells it; a 404 ends with exit code 1."""
NOISE = (
    *("Warning: Basic terminal detected", "Warning: 256-color support not detected"),
    *("Ripgrep is not available", "YOLO mode is enabled", "[STARTUP]"),
)
"""How lines begin that it writes to standard error in any run."""
API_ERROR = re.compile(r"\[API Error: (.*)\]\Z", re.DOTALL)
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
        failed = seen.result if seen.result is not None and seen.result.is_error else None
        if failed is not None and not failed.text:  # an event of an error came before it
            seen = replace(seen, result=replace(failed, text=seen.last_text))
        if seen.api_status is None and ending.signal is None:
            seen = replace(seen, api_status=_status(ending, is_error=failed is not None))
        lines = ending.stderr_tail.splitlines()
        kept = "\n".join(line for line in lines if not line.startswith(NOISE))
        ending = replace(ending, stderr_tail=kept)
        verdict = classify_ending(ending, seen, self.cli, remedy=self.remedy)
        if failed is not None and ending.code == 0 and verdict.cause is Cause.CRASHED:
            return replace(verdict, cause=Cause.API_ERROR)  # an empty answer, four times
        return verdict

    def _launch(self, request: LaunchRequest, session_flag: str) -> Launch:
        session = request.required_session.id
        policy = _policy_place(self.name, request, is_fenced=self.config.is_sandboxed)
        rights = ("-y",) if self.config.yolo_mode else ("--approval-mode", "default")
        users = (path for path in _users_rules(request) if COMMA not in str(path))
        rules = (word for path in (policy, *users) for word in ("--policy", str(path)))
        links = _links(request)
        folders = [path for path in request.readable if COMMA not in str(path)]
        folders += [_own_folder(request.home) / name for name in links if request.home]
        added = (word for path in folders for word in ("--include-directories", str(path)))
        model = ("-m", self.config.model) if self.config.model else ()
        argv = (self.binary, *rights, *rules, *added, "-o", "stream-json", *model)
        command = f"sow-{session}"
        is_given_by_command = request.home is not None and bool(request.prompt.strip())
        own = {f"commands/{command}.toml": GIVING} if is_given_by_command else {}
        stdin = f"/{command}\n{request.prompt}" if own else as_text(request.prompt)
        rules_text = {POLICY_FILE: policy_for(request)}
        is_beside = policy.parent == request.prompt_file.parent
        return Launch(
            argv=(*argv, session_flag, session, *self.config.custom_args),
            stdin=stdin,
            cwd=request.cwd,
            env=ENVIRONMENT,
            files=rules_text if is_beside else {},
            home_files=own if is_beside else {**own, **rules_text},
            home_links=links,
        )


GIVING = 'prompt = "Your message stands below the following line."\n'
"""A command of the user's, as it were: it answers with this, and what it was called with below."""


def as_text(prompt: str) -> str:
    """Return a prompt that is neither a command nor names a file, as far as that can be."""
    unnamed = READ_AS_PATH.sub(r"\\@", prompt)
    return f"\n{unnamed}" if unnamed.startswith("/") else unnamed


def _own_folder(home: Path) -> Path:
    """Return the CLI's folder in a session's own."""
    return home / HOME_VARIABLE.lower() / ".gemini"


def _policy_place(name: str, request: LaunchRequest, *, is_fenced: bool) -> Path:
    """Return where its rules are to lie: in the attempt's folder, if its path can be an argument.

    A sandbox (`is_fenced`) has no such folder. Without rules it offers no tool for commands, and
    says nothing (measured). Raises CommaInPath.
    """
    beside = request.prompt_file.with_name(POLICY_FILE)
    if COMMA not in str(beside) and not (is_fenced and request.home is not None):
        return beside
    if request.home is None or COMMA in str(request.home):
        raise CommaInPath(name, beside.parent if request.home is None else request.home)
    return _own_folder(request.home) / POLICY_FILE


def _links(request: LaunchRequest) -> dict[str, Path]:
    """Return links in the session's folder to what it is to read, where a path has a comma."""
    if request.home is None:
        return {}
    folders = [path for path in request.readable if COMMA in str(path)]
    return {f"{LINK}{number}": path for number, path in enumerate(folders, 1)}


def _users_rules(request: LaunchRequest) -> tuple[Path, ...]:
    """Return the user's own folder of rules, whether it is there or not."""
    home = request.environ.get(HOME_VARIABLE) or request.environ.get("HOME")
    return (Path(home, ".gemini/policies"),) if home else ()


def policy_for(request: LaunchRequest) -> str:
    """Return the rules by which an agent may report, and edit in its folder, and do no more."""
    commands = [f"sow {words}" for words in request.commands]
    return "".join(
        (
            *(_rule(SHELL, "allow", ALLOWED, commandPrefix=each) for each in commands),
            # Many an agent ends a command like this, to see its errors: it writes no file.
            *(_rule(SHELL, "allow", JOINED, **_with_joined_errors(each)) for each in commands),
            *(_rule(SHELL, "deny", FIRST, commandRegex=_refused(each)) for each in request.denied),
            _rule(PLANNING, "deny", FIRST),
            _rule(EDITORS, "allow", ALLOWED),
            CHECKER,
            *(_rule(EDITORS, "deny", FIRST, argsPattern=each, modes=GUARDED) for each in OWN),
            *(_rule(EDITORS, "deny", FIRST, argsPattern=each) for each in _closed(request)),
        )
    )


def _rule(tool: Words, decision: str, priority: int, **conditions: Words | bool) -> str:
    fields = {"toolName": tool, "decision": decision, "priority": priority, **conditions}
    # A string of JSON is one of TOML, but for the halves of a surrogate pair.
    written = (f"{key} = {json.dumps(fields[key], ensure_ascii=False)}\n" for key in fields)
    return "[[rule]]\n" + "".join(written) + "\n"


def _with_joined_errors(command: str) -> dict[str, Words | bool]:
    return {"commandRegex": f'{command}[^<>]* 2>&1"', "allowRedirection": True}


def _refused(words: str) -> str:
    """Return a pattern of a command of sow, however many blanks there are between its words."""
    return r"\s+".join(("sow", *words.split())) + r'[\s"\\]'


def _closed(request: LaunchRequest) -> Iterator[str]:
    """Yield patterns of the paths that an editing tool must not be called with.

    A path is compared as it is written; so where a folder is closed, detours are too. The CLI
    drops a pattern with a repetition inside of another.
    """
    folders = (*request.readable, *request.unwritable)
    for folder in folders:
        names = [str(folder)]
        if folder.is_relative_to(request.cwd):
            relative = str(folder.relative_to(request.cwd))
            names += [relative, f"./{relative}"]
        yield from (f'"file_path":"{re.escape(_in_json(name))}/' for name in names)
    if folders:
        yield from (f'"file_path":"[^"]*{detour}' for detour in DETOURS)


def _in_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


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


class ErrorLine(msgspec.Struct, frozen=True, tag_field="type", tag="error"):
    """An error that is no request's, such as an empty answer, or a warning."""

    severity: Any = None
    message: Any = None
    timestamp: Any = None


class ResultLine(msgspec.Struct, frozen=True, tag_field="type", tag="result"):
    """The last line of a run that came to an end, good or bad."""

    status: Any = None
    error: Any = None
    stats: Any = None


class Failure(msgspec.Struct, frozen=True):
    """Why a request has failed."""

    message: Any = None


class Body(msgspec.Struct, frozen=True):
    """What the service answers to a request that it refuses."""

    error: Failure = Failure()


Line = InitLine | MessageLine | ToolLine | AnswerLine | ErrorLine | ResultLine
EVENT_LINES = lines_of_types("init", "message", "tool_use", "tool_result", "error", "result")


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
        case ErrorLine():
            text, at = _words(line.message), parse_time(line.timestamp)
            yield Event(EventKind.TEXT, text=text, is_error=line.severity == "error", at=at)
        case ResultLine():
            words = _failure(line.error)
            yield Event(
                EventKind.RESULT,
                text=words,
                is_error=line.status != "success",
                totals=_totals(line.stats),
            )


def _answer(line: AnswerLine) -> Iterator[Event]:
    failed, at = line.status != "success", parse_time(line.timestamp)
    words = excerpt(_message(line.error) or _words(line.output), ANSWER_LIMIT)
    yield Event(EventKind.TOOL_RESULT, text=words, is_error=failed, at=at)
    kind = line.error.get("type") if isinstance(line.error, dict) else None
    if kind == POLICY_VIOLATION or (failed and UNASKED in words):
        tool = _words(line.tool_id).partition("__")[0][:100] or "unknown"
        yield Event(EventKind.DENIAL, text=tool, tool=tool, is_error=True)


def _message(error: Any) -> str:
    return _words(error.get("message") if isinstance(error, dict) else error)


def _failure(error: Any) -> str:
    """Return the words of the service; the CLI puts the whole body of its answer there."""
    text = error.get("message") if isinstance(error, dict) else error
    found = API_ERROR.match(text) if isinstance(text, str) else None
    if found is None:
        return _words(text)
    try:
        body = msgspec.json.decode(found[1], type=Body)
    except msgspec.MsgspecError:
        return _words(text)
    return _words(body.error.message) or _words(text)


def _status(ending: Ending, *, is_error: bool) -> int | None:
    """Return the HTTP status of the failed request that has ended a run."""
    if ending.code in STATUSES or not is_error:
        return STATUSES.get(ending.code or 0)
    found = STATUS.findall(ending.stderr_tail)
    return int(found[-1]) if found else None


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
