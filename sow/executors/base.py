"""What an executor is: how one agent CLI is started, read and judged.

Owns the words between sow and its executors. An executor builds a launch as a
value and reads lines that it is given; it starts no process, opens no file of
ours, and knows nothing of jobs, queue or task state.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from sow.executors.metering import Meter, Span
from sow.executors.session import Session, SessionSource
from sow.schema.amounts import ReachedLimit
from sow.schema.causes import Cause
from sow.schema.executor import ExecutorConfig
from sow.schema.usage import NOTHING, Tokens, Totals

MOST_CALLS = 20
"""So many calls of tools at once are remembered by their words."""
MOST_DENIALS = 100
"""More denied tools are not listed: no output may make a list that grows for ever."""


class LaunchRequest(Struct, frozen=True):
    """What one run needs to know, whichever executor runs it."""

    session: Session | None
    prompt: str
    """The whole text for standard input."""
    prompt_file: Path
    """Where that text lies; sow writes it before the process starts."""
    task_dir: Path
    cwd: Path
    as_root: bool
    environ: Mapping[str, str] = field(default_factory=dict)
    """The variables that the agent will have, by which its CLI finds the user's own files."""
    readable: tuple[Path, ...] = ()
    """Folders outside `cwd` that the agent is to read, and must not write."""
    unwritable: tuple[Path, ...] = ()
    """Folders that the agent must not write, wherever they lie."""
    checkout: Path | None = None
    """What `cwd` stands for in the main checkout, where the agent runs in a clone: what the user
    has allowed there holds in the clone too."""
    commands: tuple[str, ...] = ()
    """The commands of sow that its CLI is to let the agent run, each by its words: `task show`."""
    denied: tuple[str, ...] = ()
    """The commands of sow that its CLI is to refuse to the agent, whatever the user's own settings
    allow, likewise; empty for a person's session."""
    instructions: str = ""
    """What stands above a conversation that begins on a terminal; `prompt` is its first message."""
    is_isolated: bool = False
    """Whether nothing that lies in `cwd` may act in the CLI by itself: hooks, servers, rules."""
    writable: tuple[Path, ...] = ()
    """Folders outside `cwd` that the commands of sow write when the agent reports."""
    home: Path | None = None
    """The folder of its own for this session's configuration; None where it is the user's."""

    @property
    def required_session(self) -> Session:
        """The session, for executors that cannot do without one."""
        if self.session is None:
            raise ValueError("this executor runs in a session, and none was given")
        return self.session


class Launch(Struct, frozen=True):
    """A process to be, as a value. `argv[0]` is a name to find on PATH, or a path."""

    argv: tuple[str, ...]
    stdin: str
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables to set on top of the agent's environment."""
    files: Mapping[str, str] = field(default_factory=dict)
    """What it reads besides, by name in the folder of `LaunchRequest.prompt_file`."""
    home: Path | None = None
    """The session's own folder, where it has one."""
    home_files: Mapping[str, str] = field(default_factory=dict)
    """What belongs into `LaunchRequest.home`, by its path there."""
    home_links: Mapping[str, Path] = field(default_factory=dict)
    """The links that belong there, by name: what each leads to."""

    def own_folders(self, clone: Path | None) -> tuple[Path, ...]:
        """Return the folders that its agent alone fills: its clone and its session's home."""
        return tuple(folder for folder in (clone, self.home) if folder is not None)


class EventKind(StrEnum):
    """What one line of output can tell."""

    SESSION = "session"
    TEXT = "text"
    TOOL_USE = "tool_use"
    TOOL_RESULT = "tool_result"
    API_RETRY = "api_retry"
    RATE_LIMIT = "rate_limit"
    DENIAL = "denial"
    BACKGROUND = "background"
    USAGE = "usage"
    RESULT = "result"


class Event(Struct, frozen=True):
    """One thing an agent did. Only the fields its kind needs are set."""

    kind: EventKind
    text: str = ""
    """Words for people: what the agent said, the tool's name and target, the error."""
    session_id: str | None = None
    tool: str | None = None
    call: str = ""
    """Which call of a tool it is about, for tool_use and denial: one that is denied there is named
    by the words of its call."""
    is_error: bool = False
    status: int | None = None
    """An HTTP status, for api_retry and a failed result."""
    resets_at: float | None = None
    """Seconds since the epoch, for rate_limit."""
    cost_usd: float | None = None
    """US dollars: of a result, all that it counts; of usage, what that message has cost so far."""
    count: int = 0
    """How many tasks run in the background now, for background; which failure of one request
    it is, for api_retry, where the CLI tells it."""
    model: str = ""
    """The model, for session and usage, where the CLI tells it."""
    span: Span | None = None
    """What the totals of this CLI's results count, for session."""
    is_kept: bool = False
    """Whether the CLI keeps the session by now, for session."""
    message: str = ""
    """Which message it is about, for usage: the same one may be told of several times."""
    tokens: Tokens = NOTHING
    """What that message has used so far; of a result, its turn alone."""
    totals: Totals | None = None
    """What was used up to here, for result, where the CLI tells it."""
    at: float | None = None
    """When it was, in seconds since the epoch, where the CLI tells it."""


class Observation(Struct, frozen=True):
    """All that an attempt's output has told so far."""

    session_id: str | None = None
    tool_uses: int = 0
    last_text: str = ""
    denied_tools: tuple[str, ...] = ()
    """Each once, in the order seen; the first MOST_DENIALS of them."""
    calls: tuple[tuple[str, str], ...] = ()
    """The last calls of tools that may yet be denied, each with its words."""
    api_status: int | None = None
    """The HTTP status of the latest failed request, if the last thing seen was a failure."""
    resets_at: float | None = None
    result: Event | None = None
    failure: Event | None = None
    """The last result that was an error."""
    failures: int = 0
    """How many of these have come since the last call of a tool: some CLIs try again for ever."""
    concluded: bool = False
    """Whether the result was the last word: no turn has begun after it."""
    background: int = 0
    """How many tasks its CLI runs in the background, and begins another turn after."""
    session_kept: bool = False
    """Whether the CLI has said that it keeps the session."""
    other_session: str | None = None
    """The session that it goes on in, where it was asked for another one."""
    meter: Meter = field(default_factory=Meter)
    """What it has used of tokens and money."""

    @property
    def told_tool_uses(self) -> int | None:
        """How many tools were called; None where nothing shows that the output tells of tools."""
        speaks_in_events = self.tool_uses or self.session_id is not None or self.result is not None
        return self.tool_uses if speaks_in_events else None

    @property
    def has_begun(self) -> bool:
        """Whether it shows that the CLI keeps the session: its first event alone does not.

        Nor does a result that names no session: that of a resume which the CLI refused.
        """
        named = self.result is not None and self.result.session_id is not None
        return bool(self.tool_uses or self.last_text or named or self.session_kept)

    @property
    def has_finished_turn(self) -> bool:
        """Whether it shows a turn that ended in good order: the CLI's result, and no error."""
        return self.result is not None and not self.result.is_error

    @property
    def is_empty(self) -> bool:
        """Whether it came to a result without a single tool call."""
        return self.result is not None and self.tool_uses == 0

    def asked_for(self, session_id: str | None) -> "Observation":
        """Return it without the session that it tells, if that is not the one asked for."""
        if session_id is None or self.session_id in (None, session_id):
            return self
        return replace(self, session_id=None, other_session=self.session_id)

    def after(self, event: Event) -> "Observation":
        """Return the observation with one more event."""
        match event.kind:
            case EventKind.SESSION:
                session_id = event.session_id or self.session_id
                meter = self.meter.with_start(event.model, event.span)
                return replace(
                    self,
                    session_id=session_id,
                    session_kept=self.session_kept or event.is_kept,
                    meter=meter,
                    concluded=False,
                )
            case EventKind.USAGE:
                meter = self.meter.with_message(
                    event.message, event.model, event.tokens, event.cost_usd
                )
                return replace(self, meter=meter)
            case EventKind.TEXT:
                text = event.text or self.last_text
                return replace(self, last_text=text, api_status=None, concluded=False)
            case EventKind.TOOL_USE:
                uses, calls = self.tool_uses + 1, self.calls
                if event.call:
                    calls = (*calls, (event.call, event.text))[-MOST_CALLS:]
                return replace(
                    self,
                    tool_uses=uses,
                    calls=calls,
                    failures=0,
                    api_status=None,
                    concluded=False,
                )
            case EventKind.API_RETRY:
                return replace(self, api_status=event.status or self.api_status, concluded=False)
            case EventKind.RATE_LIMIT:
                return replace(self, resets_at=event.resets_at or self.resets_at)
            case EventKind.DENIAL:
                tool = dict(self.calls).get(event.call) or event.tool or "unknown"
                return replace(self, denied_tools=_with(self.denied_tools, tool))
            case EventKind.BACKGROUND:
                return replace(self, background=event.count)
            case EventKind.RESULT:
                return replace(
                    self,
                    result=event,
                    failure=event if event.is_error else self.failure,
                    failures=self.failures + event.is_error,
                    concluded=True,
                    session_id=event.session_id or self.session_id,
                    meter=self._metered(event),
                    api_status=event.status if event.is_error else None,
                )
            case _:
                return self

    def _metered(self, result: Event) -> Meter:
        if result.totals is not None:
            return self.meter.with_result(result.totals, result.tokens)
        return self.meter if result.is_error else self.meter.with_end()


def _with(denied: tuple[str, ...], tool: str) -> tuple[str, ...]:
    if tool in denied or len(denied) >= MOST_DENIALS:
        return denied
    return (*denied, tool)


class Ending(Struct, frozen=True):
    """How a process ended: an exit code, or the signal that killed it, or neither known."""

    code: int | None
    signal: int | None
    stderr_tail: str
    """The last 8 KiB of standard error, undecodable bytes replaced."""
    output_tail: str
    """The last 8 KiB of standard output, for CLIs that print errors there."""
    limit: str = ""
    """The key of the limit for which its supervisor or the kernel has ended it; else nothing."""
    limit_seen: float = 0.0
    """What was seen of that, in bytes or seconds; 0 where the kernel alone has."""


class Verdict(Struct, frozen=True):
    """An executor's reading of an ending that the agent did not report itself."""

    cause: Cause
    reason: str
    """The CLI's own words where it has any, else ours; one or two lines."""
    resets_at: float | None = None
    reached: ReachedLimit | None = None
    """The limit that has ended it, where the worker has found out which."""


RunCommand = Callable[[Sequence[str]], str]
"""Runs a short command of the CLI and returns its standard output.

Raises ExecutorError when it fails or takes longer than a minute.
"""


class Executor(Protocol):
    """One agent CLI. Constructed from an `ExecutorConfig`; holds nothing else."""

    def __init__(self, config: ExecutorConfig) -> None: ...

    @property
    def name(self) -> str:
        """The name it has in the user's configuration."""

    @property
    def config(self) -> ExecutorConfig:
        """Its resolved settings."""

    @property
    def binary(self) -> str:
        """The program it needs: a name to find on PATH, or a path."""

    @property
    def supports_resumption(self) -> bool:
        """Whether a session can be continued."""

    @property
    def has_terminal_mode(self) -> bool:
        """Whether a person can take a session over on a terminal."""

    @property
    def isolates(self) -> bool:
        """Whether it obeys `is_isolated`: nothing in the agent's folder acts in the CLI then."""

    @property
    def session_source(self) -> SessionSource:
        """How a session id comes about."""

    @property
    def remedy(self) -> str:
        """How a tool that was denied is allowed, in a sentence that names the setting."""

    def validate_availability(self, path: str | None) -> str:
        """Return the absolute path of its binary on `path` (None: this process's PATH).

        Raises ExecutorBinaryNotFound.
        """

    def create_session(self, run: RunCommand) -> Session:
        """Return a new session, for the sources `chosen` and `created`."""

    def spawn(self, request: LaunchRequest) -> Launch:
        """Return the launch that starts a session."""

    def resume(self, request: LaunchRequest) -> Launch:
        """Return the launch that continues `request.session`.

        Raises ResumptionNotSupported.
        """

    def take_over(self, request: LaunchRequest) -> Launch:
        """Return the launch by which a person continues `request.session` on a terminal.

        Its prompt is not used. Raises OpeningNotSupported.
        """

    def begin_on_terminal(self, request: LaunchRequest) -> Launch:
        """Return the launch by which a person begins a session on a terminal.

        `request.prompt` is the first message, below `request.instructions`.
        Raises BeginningNotSupported.
        """

    def limit_arguments(self, usd: float) -> tuple[str, ...]:
        """Return what makes the CLI end a run by itself that has cost so many dollars.

        They go behind all other arguments. Nothing where it has no such limit.
        """

    def transcripts(self, session_id: str, environ: Mapping[str, str]) -> Iterable[Path]:
        """Return the files in which the CLI keeps a session, as far as they exist.

        `environ` is the agent's environment. They grow while the agent works.
        """

    def holds_conversation(self, transcript: bytes) -> bool:
        """Whether the text of such a file holds anything that the CLI could continue."""

    def read_line(self, line: bytes) -> tuple[Event, ...]:
        """Return what one line of output tells; nothing for noise, never an error."""

    def read(self, data: bytes) -> Iterator[Event]:
        """Yield what each of many whole lines tells, in their order."""

    def skim(self, data: bytes) -> Iterator[Event]:
        """Yield of many whole lines only the events that an observation needs.

        Folded, they make of any observation what those of `read` would. It
        costs no step in Python for each line that tells nothing.
        """

    def classify(self, ending: Ending, seen: Observation) -> Verdict:
        """Return why the process ended without a status in the task's state."""
