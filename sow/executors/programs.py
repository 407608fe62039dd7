"""The program of an executor, looked for on PATH.

Owns the one look-up. Imports nothing of how executors are driven: whoever only asks whether a
program is there needs none of it.
"""

import os

from sow.agent_clis.description import AgentCli, Fence
from sow.agent_clis.known import AGENT_CLIS
from sow.executors.executor_errors import ExecutorBinaryNotFound
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType


def binary_of(config: ExecutorConfig, cli: AgentCli) -> str:
    """Return the name of the program that the settings name, else the one of its CLI."""
    return config.command[0] if config.command else cli.binary


def resumes(config: ExecutorConfig, cli: AgentCli) -> bool:
    """Whether sessions can be continued: by `settings.resume`, else as its CLI does.

    A record of a shared queue has no command, and so says nothing of it: true, and a call tells.
    """
    if config.type is not ExecutorType.COMMAND:
        return cli.resumes
    return bool(config.resume) or not config.command


def fence_of(config: ExecutorConfig) -> tuple[Fence, str]:
    """Return what holds an agent back, and what that means for it as a clause, if anything."""
    cli = AGENT_CLIS[config.type]
    if config.is_sandboxed:
        return Fence.SANDBOX, "bubblewrap"
    if config.yolo_mode:
        return Fence.NONE, "yolo_mode is on"
    if config.preset is None:
        return cli.fence, "as far as it asks" if cli.fence is Fence.ASKING else ""
    fence = cli.fences[config.preset]
    return fence.kind, fence.why


def api_seconds(config: ExecutorConfig) -> float | None:
    """Return how long a model may give no answer: by the settings, else as its CLI needs it.

    None for ever.
    """
    given = config.api_timeout_seconds
    return AGENT_CLIS[config.type].api_seconds if given is None else given or None


def program_of(config: ExecutorConfig, cli: AgentCli, path: str | None) -> str:
    """Return the absolute path of an executor's program, or raise ExecutorBinaryNotFound.

    Without a `path`, it is looked for on that of this process.
    """
    binary = binary_of(config, cli)
    found = find_program(binary, os.environ.get("PATH", os.defpath) if path is None else path)
    if found is None:
        install = cli.install.format(binary=binary, name=config.name)
        raise ExecutorBinaryNotFound(config.name, binary, install=install)
    return os.path.abspath(found)  # noqa: PTH100 - a link is kept: some CLIs look at their name


def find_program(name: str, path: str) -> str | None:
    """Return the first program of this name on `path`, or None; one with a slash is a path.

    It is `shutil.which` of POSIX, without `shutil`: that loads three libraries which compress.
    """
    folders = path.split(os.pathsep) if path else []
    places = [name] if "/" in name else [f"{folder or os.curdir}/{name}" for folder in folders]
    return next((place for place in places if _is_program(place)), None)


def _is_program(place: str) -> bool:
    try:
        return os.access(place, os.X_OK) and not os.path.isdir(place)  # noqa: PTH112
    except ValueError:  # a name that no file can have
        return False
