"""An agents' CLI on this process's own terminal, until it ends: signals are left to it.

Owns also how such a session gets its secrets: the commands that print them run on the terminal
first. What the CLI shows there is for the person who sits at it, and nothing is kept of it.
"""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from sow import env_vars
from sow.blanking import fault_of
from sow.config.config_errors import InvalidConfiguration
from sow.environment import agent_environment
from sow.executors.base import Launch
from sow.schema.executor import ExecutorConfig
from sow.user_folders import home_in

FROM_KEYBOARD = (signal.SIGINT, signal.SIGQUIT)
PASSED_ON = (signal.SIGTERM, signal.SIGHUP)
LOOK_SECONDS = 0.5
SECRET_SECONDS = 60.0
"""How long a command that prints a secret may take. The person may have to type a passphrase."""


def run_in_foreground(
    launch: Launch, environ: Mapping[str, str], *, pass_fds: Sequence[int] = ()
) -> int:
    """Run a launch on our terminal; return its exit code, minus the signal that killed it."""
    running: list[subprocess.Popen[bytes]] = []
    early: list[int] = []
    with _left_to(running, early):
        running.append(
            subprocess.Popen(launch.argv, cwd=launch.cwd, env=dict(environ), pass_fds=pass_fds)
        )
        for signum in early:
            running[0].send_signal(signum)
        return _wait_for(running[0])


def _wait_for(process: subprocess.Popen[bytes]) -> int:
    """Return a process's exit code; look up now and then.

    A signal that comes right before a call that blocks is heeded by Python after that call.
    """
    while True:
        try:
            return process.wait(timeout=LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            continue


def secrets_for_session(
    executor: ExecutorConfig, config_file: Path, environ: Mapping[str, str]
) -> dict[str, str]:
    """Return the secrets of an executor as variables, and the one that names them.

    `environ` is this process's own. Raises ConfigurationError, which quotes no value.
    """
    if not executor.secret_names:
        return {}
    # Few executors have any.
    from sow.config.secrets import read_secrets

    secrets = read_secrets(config_file, executor.name)
    users = agent_environment(environ)
    place = f"agents.executors.{executor.name}.env_commands"
    printed = {
        name: _printed(config_file, f"{place}.{name}", line, users)
        for name, line in secrets.commands.items()
    }
    return {**secrets.values, **printed, env_vars.SECRETS: ",".join(secrets.names)}


def _printed(config_file: Path, key: str, line: str, environ: Mapping[str, str]) -> str:
    """Return what a command line of `env_commands` prints, less its last newline.

    Raises InvalidConfiguration where that is no secret; it names the place and quotes nothing.
    """
    try:
        done = subprocess.run(
            ["sh", "-c", line],
            cwd=home_in(environ),
            env=dict(environ),
            stdout=subprocess.PIPE,
            timeout=SECRET_SECONDS,
            check=False,
        )
        value = done.stdout.removesuffix(b"\n")
        how = f"it ended with exit code {done.returncode}" if done.returncode else fault_of(value)
    except subprocess.TimeoutExpired:
        value, how = b"", f"it took longer than {SECRET_SECONDS:.0f} s"
    except OSError as error:
        value, how = b"", f"it could not be run: {error.strerror}"
    if how:
        raise InvalidConfiguration(
            path=config_file,
            key=key,
            reason=f"the command gives no secret: {how}",
            remedy="Run the command in your shell to see why.",
        )
    return os.fsdecode(value)


@contextmanager
def _left_to(running: Sequence[subprocess.Popen[bytes]], early: list[int]) -> Iterator[None]:
    """Leave signals to the CLI: the keyboard's reach it anyway, the others are passed on.

    They are caught, not ignored: what is ignored stays so in a program that is started.
    One that comes while the CLI is being started is kept in `early`.
    """

    def pass_on(signum: int, _frame: FrameType | None) -> None:
        if signum not in PASSED_ON:
            return
        for process in running:
            process.send_signal(signum)
        if not running:
            early.append(signum)

    before = {signum: signal.signal(signum, pass_on) for signum in (*FROM_KEYBOARD, *PASSED_ON)}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
