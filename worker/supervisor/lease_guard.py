"""A second fence: what ends an agent with its lease where its supervisor cannot.

The supervisor of an attempt whose lease has an end forks it before the agent. It sleeps, and looks
itself whether the lease has come to its end (`lease_end`): where the supervisor was killed or
stopped by then, and no worker renews the lease, nobody else would end the agent. It is in no group
of the agent's, and belongs to the tree below the supervisor, which ends it with all the rest.
Without a supervisor it leaves when nothing of the attempt is left.

A signal at the supervisor's death (PR_SET_PDEATHSIG) would kill the agent's first process alone: of
most CLIs that is a launcher, which the CLI itself outlives. And it would end an agent that a worker
still watches.

Light: the supervisor runs on it.
"""

import os
import sys
import time

from worker.supervisor.agent_process import REQUESTS
from worker.supervisor.exit_file import say
from worker.supervisor.lease_end import LeaseEnd
from worker.supervisor.own_processes import Left, OwnProcesses, left_of
from worker.supervisor.tree_ending import LOOK_SECONDS, kill

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import NoReturn
else:
    import _signal as signal

SHORTEST_SECONDS = 0.01


def fork_guard(lease: LeaseEnd, own: OwnProcesses, fence: str) -> list[int]:
    """Fork the guard of an attempt, and return its pid; none where nobody can fork now."""
    supervisor = os.getpid()
    try:
        pid = os.fork()
    except OSError as error:
        say(f"nothing but its supervisor ends the agent with its lease: {error.strerror}")
        return []
    if pid == 0:
        _become(lease, own, fence, supervisor)
    return [pid]


def _become(lease: LeaseEnd, own: OwnProcesses, fence: str, supervisor: int) -> "NoReturn":
    """Be the guard, and end with it."""
    try:
        os.setsid()
        for number in (*REQUESTS, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        # The attempt's lock is among them, and pipes whose end others wait for.
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        _guard(lease, own, fence, supervisor)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(0)


def _guard(lease: LeaseEnd, own: OwnProcesses, fence: str, supervisor: int) -> None:
    while not lease.comes():
        time.sleep(max(lease.pause, SHORTEST_SECONDS))
        if os.getppid() != supervisor and not _left(own, fence):
            return
    time.sleep(lease.grace_seconds)
    left = _left(own, fence)
    if left:
        say("the lease has ended, and the supervisor has not ended the agent: its guard does")
    while left:
        kill(left)
        time.sleep(LOOK_SECONDS)
        left = _left(own, fence)


def _left(own: OwnProcesses, fence: str) -> Left:
    """Return what carries the attempt's id or was fenced in with it, and all below, but for us."""
    fenced = own.tree.fenced(fence, 0, "") if fence else ()
    roots = {*own.carriers(), *fenced} - {os.getpid()}
    return left_of(own.tree, list(roots), own.folder)
