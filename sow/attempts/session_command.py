"""The command of an executor's own CLI that makes a session: the call runs it, and the worker.

Owns its environment, and how long it may take. No lock is held meanwhile.
"""

import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from sow import env_vars
from sow.attempts.launch import executor_variables, inherited_by, path_with_sow
from sow.blanking import Blanker, values_in
from sow.errors import ConfigurationError, ExecutorError
from sow.executors.base import Ending, Executor
from sow.executors.session import Session, SessionSource
from sow.schema.job import Job

CREATE_SECONDS = 60.0
"""How long an executor's own command may take to make a session."""


class SessionNotMade(ExecutorError):
    """The command that makes a session has failed."""

    def __init__(self, argv: Sequence[str], done: "subprocess.CompletedProcess[bytes]") -> None:
        output, errors = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
        words = (errors if done.stderr else output).strip()
        super().__init__(
            f"`{' '.join(argv)}` failed with exit code {done.returncode}: {words[:500]}",
            hint="Run it yourself to see why. You may need to log in to the CLI.",
        )
        self.ending = Ending(done.returncode, None, errors or output, output)
        """How it ended, for its executor to read."""


def create_session(
    executor: Executor, job: Job, root: Path, environ: Mapping[str, str]
) -> Session | None:
    """Return a new session; None where the executor learns it from its output.

    `root` is the workspace's root, `environ` this process's own. Raises ExecutorError where its CLI
    makes none.
    """
    if executor.session_source is SessionSource.LEARNED:
        return None
    return executor.create_session(lambda argv: run_session_command(argv, job, root, environ))


def run_session_command(
    argv: Sequence[str], job: Job, root: Path, environ: Mapping[str, str]
) -> str:
    """Run a short command of the CLI of a job's agent and return what it printed.

    It gets what the agent will get. A `${NAME}` in the executor's `env` may be set for the worker
    alone; then the command goes without, as it does without a secret that a command would print.
    Raises ExecutorError when it fails or takes longer than a
    minute.
    """
    return run_short(argv, root / job.cwd, environment_of_short(job, environ), CREATE_SECONDS)


def environment_of_short(job: Job, environ: Mapping[str, str]) -> dict[str, str]:
    """Return what a short command of the CLI of a job's agent gets, likewise."""
    environment = inherited_by(job, environ)
    with suppress(ConfigurationError):
        environment |= executor_variables(job, environ)
        environment |= _secrets_in_files(job)
    environment["PATH"] = path_with_sow(job.path_variable)
    return environment


def _secrets_in_files(job: Job) -> dict[str, str]:
    """Return the secrets of an agent that lie in files. No command is run for another one."""
    if not job.agents_executor.env_file_names:
        return {}
    # Few executors have any.
    from sow.config.secrets import read_secrets

    values = read_secrets(Path(job.config_file), job.agents_executor.name).values
    return {**values, env_vars.SECRETS: ",".join(values)}


def run_short(
    argv: Sequence[str], cwd: Path, environment: Mapping[str, str], seconds: float
) -> str:
    """Run a short command and return what it printed.

    Raises ExecutorError when it fails or takes longer than so many seconds.
    """
    try:
        done = subprocess.run(
            list(argv),
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ExecutorError(
            f"`{' '.join(argv)}` did not answer: {error}", hint="Run it yourself to see why."
        ) from error
    if names := environment.get(env_vars.SECRETS):
        blanker = Blanker(values_in(environment, names))
        done.stdout, done.stderr = map(blanker.whole, (done.stdout, done.stderr))
    if done.returncode != 0:
        raise SessionNotMade(argv, done)
    return done.stdout.decode("utf-8", "replace")
