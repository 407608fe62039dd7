"""Cursor's `cursor-agent`, in the two dialects of its command line.

Owns both command lines and how to tell them apart. From documents and public
recordings, not run by us: today's CLI makes a chat by `create-chat` and has no
`--chat-id`; the seeds' one takes the caller's id by `agent --chat-id`.
"""

import re
from collections.abc import Iterator
from typing import ClassVar

from sow.agent_clis.cursor import CLI, Dialect
from sow.errors import ExecutorError
from sow.executors.base import (
    Ending,
    Event,
    Executor,
    Launch,
    LaunchRequest,
    Observation,
    RunCommand,
    Verdict,
)
from sow.executors.cursor_stream import EVENT_LINES, read_cursor_line
from sow.executors.endings import classify_ending
from sow.executors.lines import TEXT_BUT_OBJECTS, skim_text
from sow.executors.plain import read_text_line
from sow.executors.program_executor import LineExecutor
from sow.executors.session import Session, SessionSource
from sow.ids import random_uuid

CHAT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{7,199}")


class CursorExecutor(LineExecutor, frozen=True):
    """Drives cursor-agent."""

    cli = CLI
    has_terminal_mode: ClassVar[bool] = True
    session_source: ClassVar[SessionSource] = SessionSource.CREATED

    def create_session(self, run: RunCommand) -> Session:
        """Find the installed CLI's dialect and return a new session in it.

        Runs `cursor-agent agent --help`, and in today's dialect
        `cursor-agent create-chat`. Raises ExecutorError, also when no id comes back.
        """
        if "--chat-id" in self._help(run):
            return Session(random_uuid(), Dialect.CHAT_ID)
        command = (self.binary, "create-chat")
        answer = run(command)
        lines = answer.split()
        if not lines or not CHAT_ID.fullmatch(lines[-1]):
            shown = answer.strip().splitlines()[:1]
            raise ExecutorError(
                f'executor "{self.name}" could not create a session:'
                f" `{' '.join(command)}` answered {shown[0][:200]!r}"
                if shown
                else f'executor "{self.name}" could not create a session:'
                f" `{' '.join(command)}` answered nothing",
                hint="Run that command yourself: the CLI may need a login or an update.",
            )
        return Session(lines[-1], Dialect.PRINT)

    def spawn(self, request: LaunchRequest) -> Launch:
        """Return the launch that begins `request.session`, in its dialect."""
        return self._launch(request, "--chat-id")

    def resume(self, request: LaunchRequest) -> Launch:
        """Return the launch that continues `request.session`, in its dialect."""
        return self._launch(request, "--resume")

    def take_over(self, request: LaunchRequest) -> Launch:
        """Return the launch that opens `request.session` on a terminal, in its dialect."""
        session = request.required_session
        program = (self.binary, "agent") if session.dialect == Dialect.CHAT_ID else (self.binary,)
        argv = (*program, *self._options(), "--resume", session.id, *self.config.custom_args)
        return Launch(argv=argv, stdin="", cwd=request.cwd)

    def begin_on_terminal(self, request: LaunchRequest) -> Launch:
        """Return the launch that begins a chat: its first message is an argument.

        It has no place for instructions, so the message holds them.
        """
        message = "\n\n".join(filter(None, (request.instructions, request.prompt)))
        argv = (self.binary, *self._options(), *self.config.custom_args, message)
        return Launch(argv=argv, stdin="", cwd=request.cwd)

    def read_line(self, line: bytes) -> tuple[Event, ...]:
        """Return what a line tells; plain text is the seeds' dialect, and an error of today's."""
        events = read_cursor_line(line)
        if events or line.lstrip().startswith(b"{"):
            return events
        return read_text_line(line)

    def skim(self, data: bytes) -> Iterator[Event]:
        """Return the events of many lines that an observation needs."""
        return skim_text(data, EVENT_LINES, self.read_line, TEXT_BUT_OBJECTS)

    def classify(self, ending: Ending, seen: Observation) -> Verdict:
        """Return the cause of an ending without a status."""
        began_in_events = seen.session_id is not None  # today's dialect: plain lines are its own
        return classify_ending(
            ending, seen, self.cli, remedy=self.remedy, output_is_own=began_in_events
        )

    def _help(self, run: RunCommand) -> str:
        try:
            return run((self.binary, "agent", "--help"))
        except ExecutorError:  # no such subcommand: not the seeds' dialect
            return ""

    def _launch(self, request: LaunchRequest, seeds_flag: str) -> Launch:
        session = request.required_session
        if session.dialect == Dialect.CHAT_ID:
            argv = (self.binary, "agent", *self._options(), seeds_flag, session.id)
        else:
            stream = ("-p", "--trust", "--output-format", "stream-json")
            argv = (self.binary, *stream, *self._options(), "--resume", session.id)
        return Launch(argv=(*argv, *self.config.custom_args), stdin=request.prompt, cwd=request.cwd)

    def _options(self) -> tuple[str, ...]:
        """Return what the settings ask for; a CLI that lacks an option says so and ends."""
        force = ("--force",) if self.config.yolo_mode else ()
        model = ("--model", self.config.model) if self.config.model else ()
        return (*force, *model)


EXECUTOR: type[Executor] = CursorExecutor
