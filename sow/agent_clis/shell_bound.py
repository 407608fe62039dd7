"""How long a call may block where an agents' CLI runs it, whose shell has a time-out.

Owns the margin that is left to the shell. Which CLI tells its time-out how,
stands in its description (`sow.agent_clis`).
"""

from collections.abc import Iterable, Mapping

from sow.agent_clis.description import AgentCli, ShellTimeout
from sow.agent_clis.known import AGENT_CLIS

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
