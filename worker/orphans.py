"""Ending what a killed supervisor left behind: what carries its id, its group or its lock.

Owns the order of the signals and the grace after each, counted over the
monitor's looks, so that nobody waits. An agent that lost its supervisor is left
to work; it is ended when somebody asks for it, and what it leaves in the
background when it has ended itself. Workers and other attempts that an agent's
own `sow` calls started are left alone (`own_processes`).
"""

import os
import signal

from sow import env_vars
from sow.jobs.attempt_evidence import is_locked
from sow.processes import process_facts
from sow.processes.process_facts import Life
from sow.schema.job import ProcessIdentity
from worker.running import Running
from worker.supervisor.foreign_processes import agent_pid_of, started
from worker.supervisor.own_processes import Left, left_of
from worker.supervisor.tree_ending import kill, send

STEPS = ((0.0, signal.SIGINT), (5.0, signal.SIGTERM), (8.0, signal.SIGKILL))
"""Each signal and how long after the first it is due, in seconds."""


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
