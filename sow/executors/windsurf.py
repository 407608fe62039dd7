"""Windsurf in the seeds' form: the prompt on standard input, no session, no resumption.

Owns its command line. Not run by us: no headless `windsurf` could be had.
`settings.command` names another program and its arguments.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from msgspec import Struct

from sow.agent_clis.windsurf import CLI
from sow.executors.base import (
    Ending,
    Event,
    Executor,
    Launch,
    LaunchRequest,
    Observation,
    RunCommand,
    Session,
    SessionSource,
    Verdict,
)
from sow.executors.binary import require_binary
from sow.executors.endings import classify_ending
from sow.executors.executor_errors import (
    BeginningNotSupported,
    OpeningNotSupported,
    ResumptionNotSupported,
)
from sow.executors.lines import read_every, skim_text
from sow.executors.plain import EVENT_LINES, read_plain_line, without_sessions
from sow.schema.executor import ExecutorConfig


class WindsurfExecutor(Struct, frozen=True):
    """Drives `windsurf`, or what `settings.command` names."""

    config: ExecutorConfig
    supports_resumption: ClassVar[bool] = CLI.resumes
    has_terminal_mode: ClassVar[bool] = False
    isolates: ClassVar[bool] = False
    session_source: ClassVar[SessionSource] = SessionSource.NONE

    @property
    def name(self) -> str:
        """Return its name in the configuration."""
        return self.config.name

    @property
    def binary(self) -> str:
        """Return `windsurf`, or the first word of `settings.command`."""
        return self._command[0]

    @property
    def remedy(self) -> str:
        """Return how a denied tool is allowed."""
        return "Allow it in the program's own settings."

    def validate_availability(self, path: str | None) -> str:
        """Return the absolute path of its program, or raise ExecutorBinaryNotFound."""
        install = (
            f"Install {self.binary}, or name another program in"
            f" agents.executors.{self.name}.settings.command."
        )
        return require_binary(self.name, self.binary, path=path, install=install)

    def create_session(self, run: RunCommand) -> Session:  # noqa: ARG002 - nothing to run
        """Raise ValueError: the source is `none`, and nobody should ask."""
        raise ValueError(f"{self.binary} keeps no sessions")

    def spawn(self, request: LaunchRequest) -> Launch:
        """Return the launch; there is no session to begin."""
        argv = (*self._command, *self.config.custom_args)
        return Launch(argv=argv, stdin=request.prompt, cwd=request.cwd)

    def resume(self, request: LaunchRequest) -> Launch:
        """Raise ResumptionNotSupported."""
        raise ResumptionNotSupported(self.name, request.task_dir.name)

    def take_over(self, request: LaunchRequest) -> Launch:
        """Raise OpeningNotSupported."""
        raise OpeningNotSupported(self.name, request.task_dir.name)

    def begin_on_terminal(self, request: LaunchRequest) -> Launch:  # noqa: ARG002 - there is none
        """Raise BeginningNotSupported."""
        raise BeginningNotSupported(self.name)

    def limit_arguments(self, usd: float) -> tuple[str, ...]:  # noqa: ARG002 - there is none
        """Return nothing: it knows no limit of its own."""
        return ()

    def transcripts(self, session_id: str, environ: Mapping[str, str]) -> Iterable[Path]:  # noqa: ARG002
        """Return nothing: where it keeps sessions is not known."""
        return ()

    def holds_conversation(self, transcript: bytes) -> bool:
        """Return whether there is anything at all: its form is not known."""
        return bool(transcript)

    def read_line(self, line: bytes) -> tuple[Event, ...]:
        """Return the events of a known shape, else the line as text."""
        return without_sessions(read_plain_line(line))

    def read(self, data: bytes) -> Iterator[Event]:
        """Return the events of many lines."""
        return read_every(data, self.read_line)

    def skim(self, data: bytes) -> Iterator[Event]:
        """Return the events of many lines that an observation needs."""
        return skim_text(data, EVENT_LINES, self.read_line)

    def classify(self, ending: Ending, seen: Observation) -> Verdict:
        """Return the cause of an ending without a status."""
        return classify_ending(ending, seen, CLI, remedy=self.remedy)

    @property
    def _command(self) -> tuple[str, ...]:
        return self.config.command or ("windsurf",)


EXECUTOR: type[Executor] = WindsurfExecutor
