"""A session for a spawn: the one on record that never started, a chosen id, or the CLI's own.

Owns the running of an executor's own command. No lock is held meanwhile.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import UNSET

from sow.calls.caller import Caller
from sow.calls.request import Resolved
from sow.environment import agent_environment
from sow.errors import ConfigurationError, ExecutorError
from sow.executors.base import Session, SessionSource
from sow.schema.job import Job
from sow.schema.task import SessionFacts, Task

CREATE_SECONDS = 60.0
"""How long an executor's own command may take to make a session."""


def allocate_session(caller: Caller, resolved: Resolved, job: Job) -> Session | None:
    """Obtain a session id the executor's way; no lock is held meanwhile."""
    task, executor = resolved.task, resolved.executor
    if not resolved.request.begins_session or keeps_session(resolved, task):
        return None
    if executor.session_source in (SessionSource.NONE, SessionSource.LEARNED):
        return None

    def run(argv: Sequence[str]) -> str:
        cwd = caller.workspace.root / resolved.cwd
        return run_command(argv, cwd, _command_environment(caller, job))

    return executor.create_session(run)


def keeps_session(resolved: Resolved, task: Task) -> bool:
    """Whether a spawn takes the session on record: one of this executor that never started."""
    return (
        not resolved.request.fresh
        and task.session_id is not UNSET
        and task.session is not UNSET
        and not task.session.started
        and task.session.executor == resolved.executor.name
    )


def session_fields(session: Session, *, executor: str, cwd: str) -> dict[str, object]:
    """Return the fields that put a new session into the task's state."""
    facts_of_session = SessionFacts(
        executor=executor,
        cwd=cwd,
        started=False,
        dialect=UNSET if session.dialect is None else session.dialect,
    )
    return {"session_id": session.id, "session": facts_of_session}


def _command_environment(caller: Caller, job: Job) -> dict[str, str]:
    """Return what the executor's own command gets: the caller's environment as it was, and `env`.

    A `${NAME}` in `env` may be set for the worker alone; then the command goes without.
    """
    # Most executors choose their ids: few calls run a command, and this needs all of an attempt.
    from sow.attempts.launch import executor_variables

    environ = agent_environment(caller.environ)
    with suppress(ConfigurationError):
        environ |= executor_variables(job, caller.environ)
    return environ


def run_command(argv: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> str:
    """Run a short command of an executor's CLI and return what it printed.

    Raises ExecutorError when it fails or takes longer than a minute.
    """
    import subprocess  # few calls run one

    try:
        done = subprocess.run(
            list(argv),
            cwd=cwd,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=CREATE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ExecutorError(
            f"`{' '.join(argv)}` did not answer: {error}", hint="Run it yourself to see why."
        ) from error
    if done.returncode != 0:
        words = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
        raise ExecutorError(
            f"`{' '.join(argv)}` failed with exit code {done.returncode}: {words[:500]}",
            hint="Run it yourself to see why. You may need to log in to the CLI.",
        )
    return done.stdout.decode("utf-8", "replace")
