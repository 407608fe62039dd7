"""What executors have in common: each runs a program that is looked for on PATH.

Owns the one look-up on PATH, and what holds of every program that sow knows by its lines of output
alone: it has no limit of its own, and where it keeps its sessions is not known.

What builds a launch and what reads output is imported by what does so, here and in each executor: a
call only asks whether the program is there, and how a session comes about.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct

from sow.agent_clis.description import AgentCli
from sow.executors.executor_errors import (
    BeginningNotSupported,
    OpeningNotSupported,
)
from sow.executors.programs import binary_of, program_of, resumes
from sow.executors.session import Session, SessionSource
from sow.ids import random_uuid
from sow.schema.executor import ExecutorConfig

if TYPE_CHECKING:
    from sow.executors.base import (
        Ending,
        Event,
        Launch,
        LaunchRequest,
        Observation,
        RunCommand,
        Verdict,
    )


class ProgramExecutor(Struct, frozen=True):
    """Drives the program that `settings.command` names, else the one of its CLI's description."""

    config: ExecutorConfig
    cli: ClassVar[AgentCli]
    isolates: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Return its name in the configuration."""
        return self.config.name

    @property
    def binary(self) -> str:
        """Return the program's name."""
        return binary_of(self.config, self.cli)

    @property
    def supports_resumption(self) -> bool:
        """Return whether its CLI continues sessions."""
        return resumes(self.config, self.cli)

    @property
    def session_source(self) -> SessionSource:
        """Return that it keeps no sessions."""
        return SessionSource.NONE

    @property
    def remedy(self) -> str:
        """Return how a denied tool is allowed."""
        return self.cli.remedy.format(name=self.name)

    def validate_availability(self, path: str | None) -> str:
        """Return the absolute path of the program, or raise ExecutorBinaryNotFound."""
        return program_of(self.config, self.cli, path)

    def create_session(self, run: "RunCommand") -> Session:  # noqa: ARG002 - nothing to run
        """Return a session with a new UUID. Raises ValueError where it is not ours to choose."""
        if self.session_source is not SessionSource.CHOSEN:
            raise ValueError(f"{self.binary} keeps no sessions whose id could be chosen")
        return Session(random_uuid())

    def classify(self, ending: "Ending", seen: "Observation") -> "Verdict":
        """Return the cause of an ending without a status."""
        from sow.executors.endings import classify_ending  # see above

        return classify_ending(ending, seen, self.cli, remedy=self.remedy)


class LineExecutor(ProgramExecutor, frozen=True):
    """Reads events of a known shape, and any other line as text."""

    def limit_arguments(self, usd: float) -> tuple[str, ...]:  # noqa: ARG002 - there is none
        """Return nothing: it knows no limit of its own."""
        return ()

    def transcripts(self, session_id: str, environ: Mapping[str, str]) -> Iterable[Path]:  # noqa: ARG002
        """Return nothing: where it keeps sessions is not known."""
        return ()

    def holds_conversation(self, transcript: bytes) -> bool:
        """Return whether there is anything at all: its form is not known."""
        return bool(transcript)

    def read_line(self, line: bytes) -> "tuple[Event, ...]":
        """Return the events of a known shape, else the line as text; they name no session."""
        from sow.executors.plain import read_plain_line, without_sessions  # see above

        return without_sessions(read_plain_line(line))

    def read(self, data: bytes) -> "Iterator[Event]":
        """Return the events of many lines."""
        from sow.executors.lines import read_every  # see above

        return read_every(data, self.read_line)


class HeadlessExecutor(LineExecutor, frozen=True):
    """Drives a program that is given its prompt on standard input, and no terminal."""

    has_terminal_mode: ClassVar[bool] = False

    def take_over(self, request: "LaunchRequest") -> "Launch":
        """Raise OpeningNotSupported."""
        raise OpeningNotSupported(self.name, request.task_dir.name)

    def begin_on_terminal(self, request: "LaunchRequest") -> "Launch":  # noqa: ARG002 - there is none
        """Raise BeginningNotSupported."""
        raise BeginningNotSupported(self.name)

    def skim(self, data: bytes) -> "Iterator[Event]":
        """Return the events of many lines that an observation needs."""
        # See above.
        from sow.executors.lines import skim_text
        from sow.executors.plain import EVENT_LINES

        return skim_text(data, EVENT_LINES, self.read_line)


class JsonExecutor(HeadlessExecutor, frozen=True):
    """Drives a program whose lines are objects of its own; a line of text tells nothing."""

    def skim(self, data: bytes) -> "Iterator[Event]":
        """Return the events of many lines that an observation needs: all, for each tells some."""
        return self.read(data)
