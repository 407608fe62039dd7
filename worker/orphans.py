"""Ending what a killed supervisor left behind: the processes that carry the attempt's id.

Owns the order of the signals and the grace after each, counted over the
monitor's looks, so that nobody waits. An agent that lost its supervisor is left
to work; it is ended when somebody asks for it, and what it leaves in the
background when it has ended itself. Workers and other attempts that an agent's
own `sow` calls started are left alone (`kin`).
"""

import json
import os
import signal
from contextlib import suppress

from sow.processes import facts
from worker.kin import ATTEMPT_VARIABLE, left_of, run_folder
from worker.running import Running

STEPS = ((0.0, signal.SIGINT), (5.0, signal.SIGTERM), (8.0, signal.SIGKILL))
"""Each signal and how long after the first it is due, in seconds."""


def pids_of(running: Running) -> list[int]:
    """Return what runs of an attempt: its supervisor among it, if that lives.

    That is what carries the attempt's id and all that is below it.
    """
    carriers = facts.carriers(ATTEMPT_VARIABLE, running.attempt.id)
    if not carriers:
        return []
    run = run_folder(str(running.paths.folder))
    return list(left_of(facts.tree(), carriers, running.attempt.id, run).targets)


def press(running: Running, *, now: float) -> None:
    """Send an attempt without a supervisor the signal that is due. `now` is monotonic."""
    pids = pids_of(running)
    agent_lives = _agent_lives(running, pids)
    if agent_lives and not running.asked_to_end:
        return
    if running.pressed_since is None:
        running.pressed_since = now
    elapsed = now - running.pressed_since
    signum = [signum for due, signum in STEPS if elapsed >= due][-1]
    if signum == signal.SIGINT and not agent_lives:
        signum = signal.SIGTERM  # interrupts are for the agent itself, which ends its own tools
    if signum != running.pressed_with or signum == signal.SIGKILL:
        running.pressed_with = signum
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signum)


def _agent_lives(running: Running, pids: list[int]) -> bool:
    """Whether the agent itself still runs; taken to be so where its pid was not written down."""
    try:
        started = json.loads(running.paths.started.read_bytes())
    except (FileNotFoundError, ValueError):
        return True
    return started.get("agent_pid") in pids
