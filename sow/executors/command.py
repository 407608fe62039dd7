"""Any program as an executor: `settings.command`, and `settings.resume` where it can resume.

Owns the placeholders. The prompt comes on standard input; a program that prints
events in Claude Code's or Cursor's shapes is understood, any other line is text.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sow.agent_clis.command import CLI
from sow.executors.executor_errors import ResumptionNotSupported
from sow.executors.program_executor import HeadlessExecutor
from sow.executors.session import SessionSource

if TYPE_CHECKING:
    from sow.executors.base import Event, Executor, Launch, LaunchRequest

SESSION_ID = "{session_id}"


class CommandExecutor(HeadlessExecutor, frozen=True):
    """Drives the program that the user names."""

    cli = CLI

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

    def spawn(self, request: "LaunchRequest") -> "Launch":
        """Return the launch of `settings.command`."""
        return self._launch(self.config.command, request)

    def resume(self, request: "LaunchRequest") -> "Launch":
        """Return the launch of `settings.resume`, or raise ResumptionNotSupported."""
        if not self.config.resume:
            raise ResumptionNotSupported(self.name, request.task_dir.name)
        return self._launch(self.config.resume, request)

    def read_line(self, line: bytes) -> "tuple[Event, ...]":
        """Return the events of a known shape, else the line as text."""
        from sow.executors.plain import read_plain_line, without_sessions  # by a worker alone

        events = read_plain_line(line)
        return without_sessions(events) if self.session_source is SessionSource.NONE else events

    def _launch(self, template: tuple[str, ...], request: "LaunchRequest") -> "Launch":
        from sow.executors.base import Launch  # by a worker alone

        values = _placeholders(request)
        argv = (*(_fill(word, values) for word in template), *self.config.custom_args)
        return Launch(argv=argv, stdin=request.prompt, cwd=request.cwd)


def _asks_for_id(template: tuple[str, ...]) -> bool:
    return any(SESSION_ID in word for word in template)


def _placeholders(request: "LaunchRequest") -> Mapping[str, str]:
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


EXECUTOR: "type[Executor]" = CommandExecutor
