"""Ending everything below a supervisor: interrupt, terminate, kill, and see that nothing is left.

Owns the signals, their order and the grace after each. Whose a process is, is
`own_processes`. Light: the supervisor runs on it.
"""

import os
import time

from worker.supervisor.agent_process import CHILD_ENDED, Agent, wait_for_signal
from worker.supervisor.exit_file import say
from worker.supervisor.sandboxed import keepers_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal

    from sow.processes.stat import Stat
    from worker.supervisor.own_processes import Left, OwnProcesses
else:
    import _signal as signal

Graces = tuple[tuple[int, float], ...]

GRACES: Graces = ((signal.SIGINT, 5.0), (signal.SIGTERM, 3.0), (signal.SIGKILL, 5.0))
"""Each signal and how long the tree has, in seconds, before the next one."""
LEFTOVER_GRACES: Graces = ((signal.SIGTERM, 2.0), (signal.SIGKILL, 5.0))
"""The same for what an agent that has exited left in the background."""

AT_ONCE: Graces = ((signal.SIGKILL, 5.0),)
"""The same where nothing may act any longer."""

LOOK_SECONDS = 0.05
"""How often it is looked whether the tree has gone."""
SLOW_LOOK_SECONDS = 1.0
"""The same once a tree has outlived its SIGKILL by the grace."""


def end_tree(agent: Agent, own: "OwnProcesses", graces: Graces) -> None:
    """Signal everything below us, ever more firmly, until nothing is left.

    What outlives SIGKILL (it waits for a dead disk, say) is waited for: an
    attempt whose processes may still act has not ended.
    """
    for signum, grace in graces:
        left = what_is_left(agent, own)
        if left is None:
            return
        if signum == signal.SIGINT:
            interrupt(agent, own, left, grace)
        elif signum == signal.SIGKILL:
            kill_all(agent, own, grace)
        else:
            send(signum, without_keepers(agent, own, left.targets))
            await_none(agent, own, grace)


def what_is_left(agent: Agent, own: "OwnProcesses") -> "Left | None":
    """Return what is left below us, or None when nothing is.

    A subreaper without a child has no descendant either (wait(2)).
    """
    if not agent.reap() and own.tree.INHERITS_ORPHANS:
        return None
    if agent.helper_status is not None:
        own.helper = 0  # it is dead, and its number may be another's
    return own.look() or None


def interrupt(agent: Agent, own: "OwnProcesses", left: "Left", grace: float) -> None:
    """Do as a terminal does on ^C, and wait for the agent: its CLI ends its own tools."""
    deadline = time.monotonic() + grace
    keepers = keepers_of(agent.pid, left.targets) if own.in_sandbox else None
    leader = agent.pid if keepers is None else keepers.group
    kept = frozenset() if keepers is None else keepers.pids
    group = {
        pid: process
        for pid, process in left.targets.items()
        if process.group == leader and pid not in kept
    }
    send(signal.SIGINT, group)
    while agent.status is None and (seconds := deadline - time.monotonic()) > 0:
        pause = own.seconds_to_next_look()
        wait_for_signal(CHILD_ENDED, seconds if pause is None else min(pause, seconds))
        own.remember()
        agent.reap()


def without_keepers(
    agent: Agent, own: "OwnProcesses", targets: "dict[int, Stat]"
) -> "dict[int, Stat]":
    """Return whom a kind signal is for: not bubblewrap, which would take the agent along."""
    keepers = keepers_of(agent.pid, targets) if own.in_sandbox else None
    if keepers is None:
        return targets
    return {pid: process for pid, process in targets.items() if pid not in keepers.pids}


def await_none(agent: Agent, own: "OwnProcesses", grace: float) -> None:
    """Wait until nothing is left below us, at most `grace` seconds."""
    deadline = time.monotonic() + grace
    while (seconds := deadline - time.monotonic()) > 0 and what_is_left(agent, own):
        wait_for_signal(CHILD_ENDED, min(seconds, LOOK_SECONDS))


def kill_all(agent: Agent, own: "OwnProcesses", grace: float) -> None:
    """Kill until nothing is left that we may kill."""
    deadline = time.monotonic() + grace
    is_late = False
    while left := what_is_left(agent, own):
        refused = kill(left)
        if not is_late and time.monotonic() > deadline:
            is_late = True
            say(f"left after SIGKILL: {', '.join(map(str, left.targets))}")
        if is_late and agent.status is not None and left.targets and refused >= set(left.targets):
            return  # another user's, as sudo leaves them
        wait_for_signal(CHILD_ENDED, SLOW_LOOK_SECONDS if is_late else LOOK_SECONDS)


def kill(left: "Left") -> set[int]:
    """Kill what is left; return what is not ours to kill.

    A process that forks faster than we look has gone when its own signal comes;
    its child gets that of the group.
    """
    for group in left.groups:
        try:
            os.killpg(group, signal.SIGKILL)
        except OSError:
            continue
    return send(signal.SIGKILL, left.targets)


def send(signum: int, targets: "dict[int, Stat]") -> set[int]:
    """Send a signal, and wake whom it finds stopped; return who may not be signalled.

    A process that has just ended is no error.
    """
    refused = set()
    for pid, process in targets.items():
        try:
            os.kill(pid, signum)
            if process.is_stopped:
                os.kill(pid, signal.SIGCONT)
        except PermissionError:
            refused.add(pid)
        except OSError:
            continue
    return refused
