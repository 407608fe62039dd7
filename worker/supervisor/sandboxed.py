"""The agent's own process where a sandbox is around it, and how that ended.

Owns who of a tree is bubblewrap and who the agent, and how bubblewrap's exit code is read. The tree
is supervisor → bwrap → bwrap, which is process 1 inside → the agent. Measured with 0.8.0: SIGTERM,
SIGINT and SIGHUP end the outer one, and the kernel kills all below it at once; the inner one
ignores them. So a kind end goes past both. bubblewrap ends with its agent's code, or 128 and the
signal's number. Light: the supervisor runs on it.
"""

import os

from sow.env_vars import SANDBOX

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping

    from sow.processes.stat import Stat
else:
    import _signal as signal

SIGNAL_BASE = 128
DEADLY = frozenset(
    {
        signal.SIGKILL,
        signal.SIGSEGV,
        signal.SIGABRT,
        signal.SIGBUS,
        signal.SIGILL,
        signal.SIGFPE,
        signal.SIGTRAP,
        signal.SIGSYS,
    }
)
"""Signals after which no program ends by itself with 128 and their number, as after SIGTERM."""


def is_in_sandbox(environ: "Mapping[bytes, bytes]") -> bool:
    """Whether an agent with this environment runs in a sandbox."""
    return bool(environ.get(SANDBOX.encode()))


class Keepers:
    """The two processes of bubblewrap between a supervisor and its agent."""

    __slots__ = ("group", "pids")

    def __init__(self, outer: int, inner: int, group: int) -> None:
        self.pids = frozenset({outer, inner})
        self.group = group
        """The process group that the agent begins in."""


def keepers_of(outer: int, processes: "Mapping[int, Stat]") -> Keepers | None:
    """Return bubblewrap's processes; None where it has not made the sandbox yet, or has gone.

    `outer` is the process that the supervisor has started: a program of ours, until a clone is
    ready. That one's children are in our own namespace.
    """
    for pid, process in processes.items():
        if process.parent == outer and is_first_of_namespace(pid):
            return Keepers(outer, pid, process.group)
    return None


def is_first_of_namespace(pid: int) -> bool:
    """Whether a process is number 1 in a namespace below ours (proc_pid_status(5))."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:  # noqa: PTH123
            lines = file.read().splitlines()
    except OSError:
        return False
    numbers = next((line.split()[1:] for line in lines if line.startswith(b"NSpid:")), [])
    return len(numbers) > 1 and numbers[-1] == b"1"


def agents_status(status: int | None) -> int | None:
    """Return bubblewrap's status as that of its agent: a deadly signal is told as one."""
    if status is None or not os.WIFEXITED(status):
        return status
    number = os.WEXITSTATUS(status) - SIGNAL_BASE
    return number if number in DEADLY else status
