"""An orchestrator's session begins on a terminal: its CLI in the foreground, as the caller's child.

Owns what that CLI is given. There is no task and no job: whoever sits there is
the orchestrator's caller, and the project's files are all that it leaves.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from sow import env_vars
from sow.attempts.launch import commands_of_role, path_with_sow
from sow.calls.caller import Caller
from sow.calls.foreground import run_in_foreground, secrets_for_session
from sow.config.configuration import Configuration
from sow.config.environment import read_executor_env
from sow.environment import agent_environment
from sow.errors import UsageError
from sow.executors.base import Executor, Launch, LaunchRequest
from sow.executors.executor_errors import SandboxNotOpened
from sow.executors.registry import is_installed, make_executor
from sow.executors.session import Session, SessionSource
from sow.state.authors import ORCHESTRATOR

OPENING = "Say in a few sentences where the project stands and what comes next, and go on with it."
"""The first message where a person has given none."""
MOST_BYTES = 100_000
"""The largest message: Linux takes no argument of 128 KiB."""


class Opening(Struct, frozen=True):
    """A session to be begun on a terminal."""

    executor: Executor
    session: Session | None
    """None where its CLI makes one by itself."""
    launch: Launch
    environ: Mapping[str, str]
    """Without the secrets, which are read when it begins."""
    config_file: Path
    users: Mapping[str, str]
    """The environment of the person."""


def prepare_opening(
    caller: Caller, configuration: Configuration, instructions: str, goal: str
) -> Opening:
    """Return the session to be begun; `goal` is a person's first message, if they give one.

    Raises ExecutorError, ConfigurationError, and UsageError for a message that
    is too long. Starts nothing.
    """
    executor = _executor(caller, configuration)
    if executor.config.is_sandboxed:
        raise SandboxNotOpened(executor.name)
    if len(goal.encode()) > MOST_BYTES:
        raise UsageError(
            f"the goal has more than {MOST_BYTES // 1000} kB",
            hint="Write the goal into a file of the repository, and give the name of that file"
            " as the goal.",
        )
    session = _session(executor)
    root = caller.workspace.root
    launch = executor.begin_on_terminal(
        LaunchRequest(
            session=session,
            prompt=goal or OPENING,
            instructions=instructions,
            prompt_file=root,
            task_dir=root,
            cwd=root,
            as_root=os.geteuid() == 0,
            environ=agent_environment(caller.environ, executor.config.env_inherit),
            commands=commands_of_role(ORCHESTRATOR),
        )
    )
    executor.validate_availability(caller.path_variable)
    environ = _environment(caller, configuration, executor, launch)
    return Opening(executor, session, launch, environ, configuration.path, caller.environ)


def _executor(caller: Caller, configuration: Configuration) -> Executor:
    """Return the first executor of the role that is installed; the first one where none is."""
    first = configuration.binding(ORCHESTRATOR).executor
    others = map(configuration.executor, configuration.bound(ORCHESTRATOR)[1:])
    path = caller.path_variable
    found = next((each for each in (first, *others) if is_installed(each, path)), first)
    return make_executor(found)


def run_opening(opening: Opening) -> int:
    """Run the CLI until it ends, and return its exit code, minus a signal that killed it.

    Raises ConfigurationError where a secret cannot be had.
    """
    config = opening.executor.config
    secrets = secrets_for_session(config, opening.config_file, opening.users)
    return run_in_foreground(opening.launch, {**opening.environ, **secrets})


def _session(executor: Executor) -> Session | None:
    """Return a session whose id is ours to choose; no command of the CLI is run for one."""
    if executor.session_source is not SessionSource.CHOSEN:
        return None
    return executor.create_session(_run_nothing)


def _run_nothing(argv: object) -> str:
    raise ValueError(f"an id that is ours to choose needs no command: {argv}")


def _environment(
    caller: Caller, configuration: Configuration, executor: Executor, launch: Launch
) -> dict[str, str]:
    """Return the CLI's environment: the person's own, without what describes another agent.

    SOW_AGENT says who its commands are. It is nobody's job, so they are not
    refused as an agent's are.
    """
    own = {
        name: value
        for name, value in caller.environ.items()
        if name.startswith(env_vars.PREFIX) and name not in env_vars.OF_AGENTS
    }
    variables = {}
    if configuration.exists:
        variables = read_executor_env(configuration.path, executor.name, caller.environ)
    return {
        **agent_environment(caller.environ, executor.config.env_inherit),
        **own,
        **variables,
        "PATH": path_with_sow(caller.path_variable),
        **launch.env,
        env_vars.AGENT: ORCHESTRATOR,
    }
