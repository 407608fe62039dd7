"""Windsurf in the seeds' form: the prompt on standard input, no session, no resumption.

Owns its command line. Not run by us: no headless `windsurf` could be had.
`settings.command` names another program and its arguments.
"""

from sow.agent_clis.windsurf import CLI
from sow.executors.base import Executor, Launch, LaunchRequest
from sow.executors.executor_errors import ResumptionNotSupported
from sow.executors.program_executor import HeadlessExecutor


class WindsurfExecutor(HeadlessExecutor, frozen=True):
    """Drives `windsurf`, or what `settings.command` names."""

    cli = CLI

    def spawn(self, request: LaunchRequest) -> Launch:
        """Return the launch; there is no session to begin."""
        argv = (self.binary, *self.config.command[1:], *self.config.custom_args)
        return Launch(argv=argv, stdin=request.prompt, cwd=request.cwd)

    def resume(self, request: LaunchRequest) -> Launch:
        """Raise ResumptionNotSupported."""
        raise ResumptionNotSupported(self.name, request.task_dir.name)


EXECUTOR: type[Executor] = WindsurfExecutor
