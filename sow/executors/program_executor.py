"""What executors have in common whose program sow knows by its lines of output alone.

Such a program has no limit of its own, and where it keeps its sessions is not known.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from msgspec import Struct

from sow.executors.base import Event, Launch, LaunchRequest
from sow.executors.executor_errors import BeginningNotSupported, OpeningNotSupported
from sow.executors.lines import read_every, skim_text
from sow.executors.plain import EVENT_LINES, read_plain_line, without_sessions
from sow.schema.executor import ExecutorConfig


class LineExecutor(Struct, frozen=True):
    """Reads events of a known shape, and any other line as text."""

    config: ExecutorConfig
    isolates: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Return its name in the configuration."""
        return self.config.name

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
        """Return the events of a known shape, else the line as text; they name no session."""
        return without_sessions(read_plain_line(line))

    def read(self, data: bytes) -> Iterator[Event]:
        """Return the events of many lines."""
        return read_every(data, self.read_line)


class HeadlessExecutor(LineExecutor, frozen=True):
    """Drives a program that is given its prompt on standard input, and no terminal."""

    has_terminal_mode: ClassVar[bool] = False

    def take_over(self, request: LaunchRequest) -> Launch:
        """Raise OpeningNotSupported."""
        raise OpeningNotSupported(self.name, request.task_dir.name)

    def begin_on_terminal(self, request: LaunchRequest) -> Launch:  # noqa: ARG002 - there is none
        """Raise BeginningNotSupported."""
        raise BeginningNotSupported(self.name)

    def skim(self, data: bytes) -> Iterator[Event]:
        """Return the events of many lines that an observation needs."""
        return skim_text(data, EVENT_LINES, self.read_line)
