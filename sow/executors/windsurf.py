"""Windsurf in the seeds' form: the prompt on standard input, no session, no resumption.

Owns its command line. Not run by us: no headless `windsurf` could be had.
`settings.command` names another program and its arguments.
"""

from typing import ClassVar

from sow.agent_clis.windsurf import CLI
from sow.executors.base import (
    Ending,
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
from sow.executors.executor_errors import ResumptionNotSupported
from sow.executors.line_executor import HeadlessExecutor


class WindsurfExecutor(HeadlessExecutor, frozen=True):
    """Drives `windsurf`, or what `settings.command` names."""

    supports_resumption: ClassVar[bool] = CLI.resumes
    session_source: ClassVar[SessionSource] = SessionSource.NONE

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

    def classify(self, ending: Ending, seen: Observation) -> Verdict:
        """Return the cause of an ending without a status."""
        return classify_ending(ending, seen, CLI, remedy=self.remedy)

    @property
    def _command(self) -> tuple[str, ...]:
        return self.config.command or ("windsurf",)


EXECUTOR: type[Executor] = WindsurfExecutor
