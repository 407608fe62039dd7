"""Ending what a killed supervisor left behind: the processes that carry the attempt's id.

Owns the order of the signals and the grace after each, counted over the
monitor's looks, so that nobody waits. An agent that lost its supervisor is left
to work; it is ended when somebody asks for it, and what it leaves in the
background when it has ended itself. Workers and other attempts that an agent's
own `sow` calls started are left alone (`kin`).
"""

import signal

from sow.processes import facts
from worker.kin import ATTEMPT_VARIABLE, Left, left_of, run_folder
from worker.running import Running, Started, read_record
from worker.tree_ending import kill, send

STEPS = ((0.0, signal.SIGINT), (5.0, signal.SIGTERM), (8.0, signal.SIGKILL))
"""Each signal and how long after the first it is due, in seconds."""


def pids_of(running: Running) -> list[int]:
    """Return what runs of an attempt, at and below what carries its id."""
    return list(_left_of(running).targets)


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
    """Return what carries the attempt's id, what was seen below such a process, and all below.

    Nobody inherits orphans here, so what is seen is remembered.
    """
    tree = facts.tree()
    roots = {
        *facts.carriers(ATTEMPT_VARIABLE, running.attempt.id),
        *tree.still_running(running.left_behind),
    }
    if not roots:
        return Left({}, set(), has_just_shrunk=False)
    run = run_folder(str(running.paths.folder))
    left = left_of(tree, list(roots), running.attempt.id, run)
    running.left_behind = {pid: one.start_ticks for pid, one in left.targets.items()}
    return left


def _agent_lives(running: Running, left: Left) -> bool:
    """Whether the agent itself still runs; taken to be so where its pid was not written down."""
    started = read_record(running.paths.started, Started)
    return started is None or started.agent_pid in left.targets
