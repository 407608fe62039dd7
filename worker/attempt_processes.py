"""The processes of an attempt, seen from its worker: whether any of them lives, how they are ended.

What a killed supervisor left behind carries the attempt's id, its group or its lock. Owns the order
of the signals to that and the grace after each, counted over the monitor's looks, so that nobody
waits. An agent that lost its supervisor is left to work; it is ended when somebody asks for it, and
what it leaves in the background when it has ended itself. Workers and other attempts that an
agent's own `sow` calls started are left alone (`own_processes`).
"""

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress

from sow import env_vars
from sow.jobs.attempt_evidence import (
    declare_void,
    has_exit,
    is_given_up,
    is_locked,
    life_of_supervisor,
)
from sow.processes import process_facts
from sow.processes.life import Life
from sow.schema.job import ProcessIdentity
from worker.running import Running
from worker.supervisor.foreign_processes import agent_pid_of, started
from worker.supervisor.own_processes import Left, left_of
from worker.supervisor.tree_ending import kill, send

STEPS = ((0.0, signal.SIGINT), (5.0, signal.SIGTERM), (8.0, signal.SIGKILL))
"""Each signal and how long after the first it is due, in seconds."""
END_SECONDS, END_LOOK_SECONDS = 1.0, 0.001
"""How long a killed supervisor may take to be gone, and how often that is looked at."""


class LookAtEnded:
    """A look for the processes of all that have ended among some attempts: one serves many.

    Those are the ones that had left a record of their end before it. None of them begins anything
    any more, unless a process of it is still there. It is made when one is asked about, and again
    for those that have ended since.
    """

    def __init__(self, attempts: Sequence[Running]) -> None:
        self._attempts = attempts
        self._gone: set[str] = set()

    def is_carried(self, running: Running) -> bool:
        """Whether any process of an attempt that has left such a record carries its id."""
        if running.attempt.id not in self._gone:
            self._look()
        return running.attempt.id not in self._gone and is_carried(running)

    def _look(self) -> None:
        left = (each for each in self._attempts if each.attempt.id not in self._gone)
        ended = [each for each in left if is_end_recorded(each)]
        ids = {each.attempt.id for each in ended}
        if ids and not process_facts.carriers(
            env_vars.ATTEMPT_ID, *ids, since=_earliest_orders(ended)
        ):
            self._gone |= ids


def _earliest_orders(attempts: Sequence[Running]) -> float | None:
    """Return a moment before which nothing could carry the id of any of some attempts, if known."""
    moments = [each.ordered_at for each in attempts if each.ordered_at is not None]
    return min(moments) if len(moments) == len(attempts) else None


def is_end_recorded(running: Running) -> bool:
    """Whether a supervisor has left a record of the end.

    A folder that cannot be looked into is told of where its own attempt is looked at.
    """
    try:
        return running.over_since is not None or has_exit(running.paths, running.attempt.id)
    except OSError:
        return False


def has_ended(running: Running, look: LookAtEnded | None = None) -> bool:
    """Whether an attempt is over: its supervisor has gone, and nothing of the agent is left.

    A supervisor that was killed leaves its agent behind; such an agent is left
    to run, and has ended when no process carries the attempt's id. One that
    cannot be verified is over when a person has given it up. A record of the
    end proves nothing while the agent is seen at work: it may have made that
    file itself, and a second agent would be started beside it. `look` may be shared.
    """
    paths, attempt = running.paths, running.attempt.id
    is_recorded = running.over_since is not None or has_exit(paths, attempt)
    if is_recorded or is_given_up(paths, attempt):
        return not (look.is_carried(running) if look is not None else is_carried(running))
    if supervisor_lives(running):
        return False
    return not pids_of(running) and declare_void(paths, attempt)


def supervisor_lives(running: Running) -> bool:
    """Whether the attempt has a supervisor to end it; one that may live elsewhere counts as one."""
    identity = running.attempt.supervisor
    return identity is not None and life_of_supervisor(identity, running.paths) is not Life.DEAD


def ask_to_end(running: Running) -> None:
    """Ask the supervisor to end its whole tree; without one, the monitor's looks end it."""
    if running.asked_to_end:
        return
    running.asked_to_end = True
    identity = running.attempt.supervisor
    if identity is not None and process_facts.life_of(identity) is Life.ALIVE:
        with suppress(ProcessLookupError):
            os.kill(identity.pid, signal.SIGTERM)


def end_supervisor(running: Running) -> None:
    """Kill the supervisor of an attempt that has ended, and wait until it is gone.

    Its work is done. One that was stopped would not end by itself, and as long as it lives its
    group cannot be removed.
    """
    identity = running.attempt.supervisor
    if identity is None or process_facts.life_of(identity) is not Life.ALIVE:
        return
    with suppress(ProcessLookupError):
        os.kill(identity.pid, signal.SIGKILL)
    deadline = time.monotonic() + END_SECONDS
    while process_facts.life_of(identity) is Life.ALIVE and time.monotonic() < deadline:
        time.sleep(END_LOOK_SECONDS)


def pids_of(running: Running) -> list[int]:
    """Return what runs of an attempt, at and below what carries its id."""
    return list(_left_of(running).targets)


def is_carried(running: Running) -> bool:
    """Whether any process of an attempt carries its id, as its agent does. Remembers nothing."""
    carriers = process_facts.carriers(env_vars.ATTEMPT_ID, running.attempt.id)
    if not carriers:
        return False
    return bool(left_of(process_facts.tree(), list(carriers), str(running.paths.folder)).targets)


def press(running: Running, *, now: float) -> None:
    """Send an attempt without a supervisor the signal that is due. `now` is monotonic."""
    left = _left_of(running)
    agent_lives = _agent_lives(running, left)
    if agent_lives and not running.asked_to_end:
        return
    if running.pressed_since is None:
        running.pressed_since = now
    elapsed = now - running.pressed_since
    signum = [signum for due, signum in STEPS if elapsed >= due][-1]
    if signum == signal.SIGINT and not agent_lives:
        signum = signal.SIGTERM  # interrupts are for the agent itself, which ends its own tools
    if signum == signal.SIGKILL:
        kill(left)
    elif signum != running.pressed_with:
        send(signum, left.targets)
    running.pressed_with = signum


def kill_left(running: Running) -> None:
    """Kill at once what is left of an attempt without a supervisor."""
    running.asked_to_end = True
    kill(_left_of(running))


def _left_of(running: Running) -> Left:
    """Return what carries the attempt's id or was fenced in with it, and all below.

    Nobody inherits orphans here, so what is seen is remembered. Where nothing
    else is found and the attempt's lock is held, who holds it is what is left.
    """
    tree = process_facts.tree()
    roots = {
        *process_facts.carriers(env_vars.ATTEMPT_ID, running.attempt.id),
        *tree.still_running(running.left_behind),
        *_fenced(running),
    }
    if not roots and is_locked(running.paths):
        roots = set(tree.lock_holders(str(running.paths.alive_lock))) - {os.getpid()}
    if not roots:
        return Left({}, set(), has_just_shrunk=False)
    left = left_of(tree, list(roots), str(running.paths.folder))
    running.left_behind = {pid: process.start_ticks for pid, process in left.targets.items()}
    return left


def _fenced(running: Running) -> list[int]:
    """Return what is left in the group that its supervisor had entered."""
    supervisor = running.attempt.supervisor
    if supervisor is None or not fence_is_known(supervisor):
        return []
    fence = str(started(str(running.paths.folder), running.attempt.id).get("fence", ""))
    pids: list[int] = process_facts.tree().fenced(fence, supervisor.pid, supervisor.start_ticks)
    return pids


def remove_fence(running: Running) -> None:
    """Remove the group of an attempt that has ended."""
    supervisor = running.attempt.supervisor
    if supervisor is not None and fence_is_known(supervisor):
        fence = str(started(str(running.paths.folder), running.attempt.id).get("fence", ""))
        process_facts.tree().unfence(fence, supervisor.pid, supervisor.start_ticks)


def fence_is_known(supervisor: ProcessIdentity) -> bool:
    """Whether a supervisor's group, if it has one, is to be seen from here."""
    return process_facts.life_of(supervisor) is not Life.UNVERIFIABLE


def _agent_lives(running: Running, left: Left) -> bool:
    """Whether the agent itself still runs; taken to be so where its pid was not written down."""
    agent_pid = agent_pid_of(str(running.paths.folder), running.attempt.id)
    return agent_pid is None or agent_pid in left.targets
