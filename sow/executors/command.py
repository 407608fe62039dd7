"""Any program as an executor: `settings.command`, and `settings.resume` where it can resume.

Owns the placeholders. The prompt comes on standard input; a program that prints
events in Claude Code's or Cursor's shapes is understood, any other line is text.
"""

from collections.abc import Mapping
from uuid import uuid4

from sow.agent_clis.command import CLI
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
    ResumptionNotSupported,
)
from sow.executors.line_executor import HeadlessExecutor
from sow.executors.plain import read_plain_line, without_sessions

SESSION_ID = "{session_id}"


class CommandExecutor(HeadlessExecutor, frozen=True):
    """Drives the program that the user names."""

    @property
    def binary(self) -> str:
        """Return the first word of `settings.command`."""
        return self.config.command[0]

    @property
    def supports_resumption(self) -> bool:
        """Return whether `settings.resume` is set."""
        return bool(self.config.resume)

    @property
    def session_source(self) -> SessionSource:
        """Return how an id comes about: only `command` can give one to the program.

        `learned`: `resume` asks for an id that `command` does not give, so the
        program tells its own. `none`: there is no id, and nothing to resume.
        """
        if _asks_for_id(self.config.command):
            return SessionSource.CHOSEN
        if _asks_for_id(self.config.resume):
            return SessionSource.LEARNED
        return SessionSource.CHOSEN if self.config.resume else SessionSource.NONE

    @property
    def remedy(self) -> str:
        """Return how a denied tool is allowed."""
        return "Allow it in the program's own settings."

    def validate_availability(self, path: str | None) -> str:
        """Return the absolute path of its program, or raise ExecutorBinaryNotFound."""
        install = f"Check agents.executors.{self.name}.settings.command: a name on PATH, or a path."
        return require_binary(self.name, self.binary, path=path, install=install)

    def create_session(self, run: RunCommand) -> Session:  # noqa: ARG002 - nothing to run
        """Return a session with a new UUID. Raises ValueError where it is not ours to choose."""
        if self.session_source is not SessionSource.CHOSEN:
            raise ValueError(f"{self.binary} keeps no sessions whose id could be chosen")
        return Session(str(uuid4()))

    def spawn(self, request: LaunchRequest) -> Launch:
        """Return the launch of `settings.command`."""
        return self._launch(self.config.command, request)

    def resume(self, request: LaunchRequest) -> Launch:
        """Return the launch of `settings.resume`, or raise ResumptionNotSupported."""
        if not self.config.resume:
            raise ResumptionNotSupported(self.name, request.task_dir.name)
        return self._launch(self.config.resume, request)

    def read_line(self, line: bytes) -> tuple[Event, ...]:
        """Return the events of a known shape, else the line as text."""
        events = read_plain_line(line)
        return without_sessions(events) if self.session_source is SessionSource.NONE else events

    def classify(self, ending: Ending, seen: Observation) -> Verdict:
        """Return the cause of an ending without a status."""
        return classify_ending(ending, seen, CLI, remedy=self.remedy)

    def _launch(self, template: tuple[str, ...], request: LaunchRequest) -> Launch:
        values = _placeholders(request)
        argv = (*(_fill(word, values) for word in template), *self.config.custom_args)
        return Launch(argv=argv, stdin=request.prompt, cwd=request.cwd)


def _asks_for_id(template: tuple[str, ...]) -> bool:
    return any(SESSION_ID in word for word in template)


def _placeholders(request: LaunchRequest) -> Mapping[str, str]:
    return {
        SESSION_ID: request.session.id if request.session else "",
        "{task_dir}": str(request.task_dir),
        "{prompt_file}": str(request.prompt_file),
    }


def _fill(word: str, values: Mapping[str, str]) -> str:
    """Return `word` with the three placeholders filled in; other braces are the program's."""
    for placeholder, value in values.items():
        word = word.replace(placeholder, value)
    return word


EXECUTOR: type[Executor] = CommandExecutor
