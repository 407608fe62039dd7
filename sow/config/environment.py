"""The variables that an executor's agents get: `agents.executors.<name>.env`.

Owns their names, the form `${NAME}` and its substitution. The values leave the
file only when a worker starts an agent; they stand in no record, no error and
no output of sow.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from sow import env_vars
from sow.config.config_errors import InvalidConfiguration
from sow.config.defaults import BUILT_IN_EXECUTORS
from sow.config.source import Source, read_source
from sow.schema.config import UserConfigFile
from sow.surrounding_programs import setter_of

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_REFERENCE = r"(?s)\$\{(.*?)(\}|$)"


def env_fault(name: str, value: str) -> str:
    """Return what is wrong with one entry of `env`, without its value; nothing if it is right."""
    if not re.fullmatch(_NAME, name):
        return "not a variable name: use only letters, digits and _, and no digit first"
    if name in env_vars.OF_AGENTS:
        return "sow itself sets this variable"
    if name == "PATH":
        return "this PATH has no effect: the agent gets the PATH of the process that called sow"
    if "\0" in value:
        return "a value cannot contain a NUL character"
    if not all(
        re.fullmatch(_NAME, match[1]) and match[2] for match in re.finditer(_REFERENCE, value)
    ):
        return "after ${ only a variable's name and } may follow"
    return ""


def read_executor_env(path: Path, executor_name: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for agents of `executor_name`, each `${NAME}` taken from `environ`.

    Raises InvalidConfiguration where the file no longer defines the executor,
    or a NAME is not set.
    """
    source = read_source(path, UserConfigFile)
    executors = (source.content.agents and source.content.agents.executors) or {}
    if executor_name not in executors and executor_name not in BUILT_IN_EXECUTORS:
        raise InvalidConfiguration(
            path=path,
            key="agents.executors",
            reason=f"executor {executor_name!r} is no longer defined here",
            remedy="Define it again, or cancel its jobs.",
        )
    section = executors.get(executor_name)
    env = (section and section.env) or {}
    return {
        name: _substitute(source, executor_name, name, value, environ)
        for name, value in env.items()
    }


def references(path: Path) -> list[tuple[str, str, str]]:
    """Return every `${NAME}` in `path`: the executor, its variable, and the NAME it refers to.

    Raises InvalidConfiguration.
    """
    source = read_source(path, UserConfigFile)
    executors = (source.content.agents and source.content.agents.executors) or {}
    return [
        (executor, variable, match[1])
        for executor, section in executors.items()
        for variable, value in ((section and section.env) or {}).items()
        for match in re.finditer(_REFERENCE, value)
    ]


def _substitute(
    source: Source[UserConfigFile],
    executor_name: str,
    name: str,
    value: str,
    environ: Mapping[str, str],
) -> str:
    place = ("agents", "executors", executor_name, "env", name)
    reason = env_fault(name, value)
    if reason:
        raise source.fault(*place, reason=reason)
    for match in re.finditer(_REFERENCE, value):
        if match[1] not in environ and (setter := setter_of(match[1], {match[1]: ""})):
            raise source.fault(
                *place,
                reason=f"{setter} sets {match[1]} only for its own job, so no worker gets it",
                remedy="Export its value under another name and use that name here. Then run"
                " `sow worker stop`: the next call starts a worker that has the variable.",
            )
        if match[1] not in environ:
            raise source.fault(
                *place,
                reason=f"the variable {match[1]} is not set where the worker runs",
                remedy=f"Export {match[1]} and run `sow worker stop`: the next call starts a"
                " worker that has it. Or remove the entry.",
            )
    return re.sub(_REFERENCE, lambda match: environ[match[1]], value)
