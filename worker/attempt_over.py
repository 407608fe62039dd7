"""Whether an attempt is over, whether it has a supervisor, and how it is asked to end.

Owns what proves an attempt's end. Changes no record: what follows from an end
is `settle`, and when to look is the monitor's to know.
"""

import os
import signal
from contextlib import suppress

from sow.jobs.attempt_evidence import declare_void, has_exit, is_given_up
from sow.processes import process_facts
from sow.processes.process_facts import Life
from worker.orphans import is_carried, pids_of
from worker.running import Running


def has_ended(running: Running) -> bool:
    """Whether an attempt is over: its supervisor has gone, and nothing of the agent is left.

    A supervisor that was killed leaves its agent behind; such an agent is left
    to run, and has ended when no process carries the attempt's id. One that
    cannot be verified is over when a person has given it up. A record of the
    end proves nothing while the agent is seen at work: it may have made that
    file itself, and a second agent would be started beside it.
    """
    paths, attempt = running.paths, running.attempt.id
    if has_exit(paths, attempt) or is_given_up(paths, attempt):
        return not is_carried(running)
    if supervisor_lives(running):
        return False
    return not pids_of(running) and declare_void(paths, attempt)


def supervisor_lives(running: Running) -> bool:
    """Whether the attempt has a supervisor to end it; one elsewhere is never called dead."""
    if running.process is not None:
        return running.process.poll() is None
    identity = running.attempt.supervisor
    folder = running.paths.folder
    return identity is not None and process_facts.life_of(identity, folder) is not Life.DEAD


def ask_to_end(running: Running) -> None:
    """Ask the supervisor to end its whole tree; without one, the monitor's looks end it."""
    if running.asked_to_end:
        return
    running.asked_to_end = True
    identity = running.attempt.supervisor
    if identity is not None and process_facts.life_of(identity) is Life.ALIVE:
        with suppress(ProcessLookupError):
            os.kill(identity.pid, signal.SIGTERM)
