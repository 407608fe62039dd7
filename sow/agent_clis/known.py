"""The description of each type of executor, and how long a call may block that one of them runs.

Owns the way from a type to its description: the module here that has the type's word for a name.
The words are `ExecutorType`. And the margin that is left to a shell with a time-out.
"""

from collections.abc import Iterable, Mapping
from importlib import import_module

from sow.agent_clis.description import AgentCli, ShellTimeout
from sow.schema.executor_type import ExecutorType

AGENT_CLIS: Mapping[ExecutorType, AgentCli] = {
    kind: import_module(f"sow.agent_clis.{kind}").CLI for kind in ExecutorType
}
"""In the order in which they are shown."""
NESTING_MARKERS = frozenset(marker for cli in AGENT_CLIS.values() for marker in cli.nesting_markers)
"""What agents' CLIs set for their children to describe the parent (measured)."""


SHELL_MARGIN_SECONDS = 10.0


def shell_bound(
    environ: Mapping[str, str], clis: Iterable[AgentCli] = AGENT_CLIS.values()
) -> float | None:
    """Return how long a call may block, in seconds, where the caller's shell has a time-out.

    None where nothing tells of such a shell. Where several CLIs have left
    their marks, the shortest time counts.
    """
    known = (cli.shell_timeout for cli in clis if cli.shell_timeout is not None)
    seconds = [_seconds(shell, environ) for shell in known if environ.get(shell.marker)]
    return max(1.0, min(seconds) - SHELL_MARGIN_SECONDS) if seconds else None


def _seconds(shell: ShellTimeout, environ: Mapping[str, str]) -> float:
    given = environ.get(shell.milliseconds_variable, "")
    return int(given) / 1000 if given.isdecimal() else shell.default_seconds
