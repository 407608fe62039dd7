"""The end of an attempt's lease as its supervisor sees it: the agent must have ended before it.

The orders say when that is, and a file of the attempt's folder says a later moment whenever the
queue's server has heard the worker. Where that stops, because the worker is dead, stopped or cut
off from the server, the supervisor ends the agent's tree by itself: afterwards another host may run
the job again. The moments are of CLOCK_BOOTTIME, which nobody sets and which goes on while the
machine sleeps.

Owns the form of both. In a queue that no other host may take jobs of, there is neither. Light: the
supervisor runs on it.
"""

import os
import time

from worker.supervisor.agent_process import Agent
from worker.supervisor.exit_file import say, write_new
from worker.supervisor.foreign_processes import read_small
from worker.supervisor.own_processes import OwnProcesses
from worker.supervisor.tree_ending import AT_ONCE, end_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = "/lease"
LIMIT = "lease"
"""What `exit.json` calls the limit that has ended such an attempt."""
LOOK_SECONDS = 5.0
"""How long the supervisor sleeps at most: a machine that has slept is to be noticed soon."""
CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def boot_seconds() -> float:
    """Return the time since the machine's start, its sleep included."""
    return time.clock_gettime(CLOCK)


def pack_lease(at: float, grace_seconds: float) -> list[str]:
    """Return orders about a lease that ends at a moment; the guard waits so long after it."""
    return [repr(at), repr(grace_seconds)]


def write_lease_end(folder: str, at: float) -> None:
    """Write that the lease of an attempt ends later; whole, by rename. Raises OSError."""
    draft = folder + "/.lease"
    write_new(draft, repr(at).encode())
    os.rename(draft, folder + NAME)  # noqa: PTH104


class LeaseEnd:
    """The end of the lease of the attempt that we supervise."""

    def __init__(self, fields: "Sequence[bytes]", folder: str) -> None:
        """`fields` are the orders about it, `folder` is the attempt's."""
        self._at = float(fields[0])
        self.grace_seconds = float(fields[1])
        """How long the supervisor has for what is its work, before its guard does it."""
        self._path = folder + NAME
        self.pause = LOOK_SECONDS
        """How long to wait for a signal until the next look."""
        self.has_come = False
        """Whether the agent was ended for it."""

    def comes(self) -> bool:
        """Look whether the lease has ended; the file is read where the moment known is over."""
        now = boot_seconds()
        if now >= self._at:
            self._at = max(self._at, self._read())
        self.pause = min(LOOK_SECONDS, max(0.0, self._at - now))
        return now >= self._at

    def _read(self) -> float:
        """Return the moment in the file; 0 where there is none that can be read."""
        try:
            return float(read_small(self._path))
        except (OSError, ValueError):
            return 0.0

    def end(self, agent: Agent, own: OwnProcesses) -> None:
        """End the agent's whole tree, at once: others may begin soon."""
        self.has_come = True
        say("the lease ends: the queue's server has not heard this worker")
        end_tree(agent, own, AT_ONCE)

    def facts(self) -> dict[str, object]:
        """Return what `exit.json` says of it."""
        return {"limit": LIMIT} if self.has_come else {}
