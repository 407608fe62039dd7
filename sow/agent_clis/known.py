"""The description of each type of executor, and how long a call may block that one of them runs.

Owns the way from a type to its description: the module here that has the type's word for a name.
The words are `ExecutorType`. And the margin that is left to a shell with a time-out.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module

from sow.agent_clis.description import AgentCli, ShellTimeout
from sow.schema.executor_type import ExecutorType


class Descriptions(Mapping[ExecutorType, AgentCli]):
    """All of them, in the order in which they are shown; one is imported when it is asked for."""

    def __getitem__(self, kind: ExecutorType) -> AgentCli:
        return _description(kind)

    def __iter__(self) -> Iterator[ExecutorType]:
        return iter(ExecutorType)

    def __len__(self) -> int:
        return len(ExecutorType)


@cache
def _description(kind: ExecutorType) -> AgentCli:
    found: AgentCli = import_module(f"sow.agent_clis.{kind}").CLI
    return found


AGENT_CLIS = Descriptions()


def warmed_up(kind: ExecutorType, preset: str | None) -> AgentCli | None:
    """Return the CLI of an executor, if it makes a store before its first run; None else.

    A preset may be a CLI that has a type of its own: its store is the same.
    """
    if kind is ExecutorType.ACP and preset in set(ExecutorType):
        kind = ExecutorType(preset)
    cli = AGENT_CLIS[kind]
    return cli if cli.warm_up is not None else None


WITH_SHELL_TIMEOUT = {
    "CLAUDECODE": ExecutorType.CLAUDE,
    "GEMINI_CLI": ExecutorType.GEMINI,
    "QWEN_CODE": ExecutorType.QWEN,
}
"""The types whose descriptions tell of a shell with a time-out, by its marker: each waiting call
asks for it, and reads no description without one."""


@cache
def nesting_markers() -> frozenset[str]:
    """Return what agents' CLIs set for their children to describe the parent (measured)."""
    return frozenset(marker for cli in AGENT_CLIS.values() for marker in cli.nesting_markers)


SHELL_MARGIN_SECONDS = 10.0


def shell_bound(environ: Mapping[str, str], clis: Iterable[AgentCli] | None = None) -> float | None:
    """Return how long a call may block, in seconds, where the caller's shell has a time-out.

    None where nothing tells of such a shell. Where several CLIs have left
    their marks, the shortest time counts.
    """
    marked = (kind for marker, kind in WITH_SHELL_TIMEOUT.items() if environ.get(marker))
    clis = map(_description, marked) if clis is None else clis
    known = (cli.shell_timeout for cli in clis if cli.shell_timeout is not None)
    seconds = [_seconds(shell, environ) for shell in known if environ.get(shell.marker)]
    return max(1.0, min(seconds) - SHELL_MARGIN_SECONDS) if seconds else None


def _seconds(shell: ShellTimeout, environ: Mapping[str, str]) -> float:
    given = environ.get(shell.milliseconds_variable, "")
    return int(given) / 1000 if given.isdecimal() else shell.default_seconds
