"""The first run of an agents' CLI in a home: a command that makes its store, before any agent runs.

Two first runs at once may break each other: of two of OpenCode 1.18.33 one was seen to fail, for
both make the same database. So whoever starts an agent asks the CLI for something small before,
where the home is new, and holds a lock meanwhile. Owns that this is done once, is bounded in time,
and stops no agent: one that starts in a home that is not ready may succeed all the same.

A CLI that is driven by ACP makes the same store: the command that starts it is asked without its
word for the protocol.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from sow.agent_clis.description import AgentCli
from sow.attempts.homes import folder_in
from sow.attempts.session_command import environment_of_short, run_short
from sow.digest import sha256
from sow.errors import ExecutorError
from sow.executors.base import Launch
from sow.files import NotWritten
from sow.files.flock import take_lock_file
from sow.schema.executor_type import ExecutorType
from sow.schema.job import Job
from sow.user_folders import BaseFolder, home_in, user_folder

WARM_UP_SECONDS = 60.0
"""How long it may take, and how long another's is waited for."""
NAME_DIGITS = 16
PROTOCOL = "acp"
"""The word of a command that has OpenCode speak the protocol; those before it start the CLI."""


def warm_up(
    cli: AgentCli,
    job: Job,
    launch: Launch,
    environ: Mapping[str, str],
    *,
    seconds: float = WARM_UP_SECONDS,
) -> str:
    """Make the home of a launch ready, where no run has done that; return what went wrong, if so.

    `environ` is this process's own.
    """
    program = _program(job, launch)
    if cli.warm_up is None or cli.home is None or not program:
        return ""
    environment = {**environment_of_short(job, environ), **launch.env}
    if cli.questions is not None:
        environment |= cli.questions.quiet
    made = folder_in(cli.home.parts[0], environment) / cli.warm_up.makes
    try:
        lock = take_lock_file(_lock_of(made), seconds)
    except (OSError, NotWritten) as error:
        return f"the lock for the first run of {cli.binary} cannot be used: {error}"
    if lock is None:
        return f"another first run of {cli.binary} took more than {seconds:.0f} s"
    try:
        if made.exists():
            return ""
        # It is found on the agent's own PATH, which need not be ours.
        found = shutil.which(program[0], path=environment["PATH"]) or program[0]
        argv = (found, *program[1:], *cli.warm_up.arguments)
        run_short(argv, home_in(environment), environment, seconds)
    except ExecutorError as error:
        return f"its CLI could not be made ready in a new home: {error.message}"
    finally:
        os.close(lock)
    return ""


def _program(job: Job, launch: Launch) -> tuple[str, ...]:
    """Return what starts the agent's CLI; nothing where sow cannot tell by its command."""
    config = job.agents_executor
    if config.type is not ExecutorType.ACP:
        return launch.argv[:1]
    words = config.command
    return tuple(words[: words.index(PROTOCOL)]) if PROTOCOL in words else ()


def _lock_of(made: Path) -> Path:
    """Return what is locked while a home is made ready. Raises OSError."""
    folder = Path(user_folder(BaseFolder.STATE), "warm-ups")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / f"{sha256(os.fsencode(made)).hexdigest()[:NAME_DIGITS]}.lock"
