"""What can be wrong with an executor or its session; the wording that the user sees.

Owns the messages. Which situation holds is decided by the executors and by
`calls`.
"""

from pathlib import Path

from sow.agent_clis.known import AGENT_CLIS
from sow.errors import ExecutorError


def resumable() -> tuple[str, ...]:
    """Return the built-in executors whose sessions can be continued."""
    return tuple(cli.built_in for cli in AGENT_CLIS.values() if cli.built_in and cli.resumes)


class ExecutorBinaryNotFound(ExecutorError):
    """The program that an executor runs is not on PATH."""

    def __init__(self, executor: str, binary: str, *, install: str) -> None:
        super().__init__(
            f"executor binary not found: {binary}",
            hint=f'Executor "{executor}" requires the {binary} CLI to be installed and available'
            f" on PATH.\n\n{install}",
        )
        self.executor = executor
        self.binary = binary


class ResumptionNotSupported(ExecutorError):
    """The executor cannot continue a session."""

    def __init__(self, executor: str, task_id: str) -> None:
        super().__init__(
            f'executor "{executor}" does not support session resumption',
            hint=f"Cannot resume task {task_id}. Consider:\n"
            "  - Spawning a new worker instance\n"
            "  - Switching to an executor with session support"
            f" ({', '.join(resumable())})",
        )


class OpeningNotSupported(ExecutorError):
    """A person cannot take the executor's sessions over on a terminal."""

    def __init__(self, executor: str, task_id: str) -> None:
        super().__init__(
            f'executor "{executor}" has no interactive mode that sow knows of',
            hint=f'Give it your words instead: `sow agent resume {task_id} "…"`.',
        )


class BeginningNotSupported(ExecutorError):
    """A person cannot begin a session of the executor on a terminal."""

    def __init__(self, executor: str) -> None:
        super().__init__(
            f'executor "{executor}" has no interactive mode that sow knows of',
            hint="`sow start --headless` runs it as a job. Or bind the role `orchestrator` to"
            " another executor: `sow config edit`.",
        )


class CommaInPath(ExecutorError):
    """A path has to be an argument of a CLI that takes a comma for its end."""

    def __init__(self, executor: str, path: Path) -> None:
        super().__init__(
            f'executor "{executor}" cannot be given a path with a comma: {path}',
            hint=f"Set agents.executors.{executor}.home: per-session, so that its rules lie in your"
            " folder of state. If the comma is there, name another one by XDG_STATE_HOME.",
        )


class SessionMissing(ExecutorError):
    """There is nothing to resume: the task has no session."""

    def __init__(self, task_id: str, agent: str) -> None:
        super().__init__(
            f"no session found for task {task_id}",
            hint="Task has not been started or session has expired.\n"
            f"Use `sow agent spawn {agent} {task_id}` to start a new session.",
        )


class SessionLost(ExecutorError):
    """A session that has started is unknown to the CLI that made it."""

    def __init__(self, executor: str, task_id: str, session_id: str, agent: str) -> None:
        super().__init__(
            f'executor "{executor}" no longer knows session {session_id} of task {task_id}',
            hint="Its conversation cannot be continued. Choose:\n"
            "  - Restore the CLI's own session files, then resume again\n"
            f"  - `sow agent spawn {agent} {task_id} --fresh` to start over in the same folder",
        )


class SandboxNotOpened(ExecutorError):
    """A session of an executor with a sandbox is asked for on a terminal."""

    def __init__(self, executor: str, task_id: str = "") -> None:
        super().__init__(
            f'executor "{executor}" has sandbox: bwrap, and sow opens no sandbox on a terminal',
            hint=f'Give it your words instead: `sow agent resume {task_id} "…"`.'
            if task_id
            else "An orchestrator starts other agents, which no agent in a sandbox can. Bind the"
            " role `orchestrator` to an executor without one: `sow config edit`.",
        )
