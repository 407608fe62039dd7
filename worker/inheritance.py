"""What a worker lets go of that it inherited, where an agent's own shell has started it.

An agent hands the lock on its attempt's `alive.lock` down to all that it
starts, and its group of processes. A worker outlives that attempt, so it must
not go on proving its life, nor be counted among what is left of it.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from sow import env_vars
from sow.ids import JobId
from sow.paths import Workspace
from sow.processes import process_facts

DESCRIPTORS = Path("/dev/fd")
"""Lists a process's own descriptors, on Linux and macOS alike."""
FIRST_OF_ITS_OWN = 3
"""The standard three are not meant to be closed."""


def leave_fence() -> None:
    """Leave the group of the attempt whose agent we run below, and remove empty ones."""
    process_facts.tree().leave_fence()


def release_alive_lock(environ: Mapping[str, str]) -> None:
    """Close the `alive.lock` of the attempt whose agent we run below, if we run below one."""
    lock = _alive_lock(environ)
    if lock is None:
        return
    for entry in list(DESCRIPTORS.iterdir()):
        descriptor = int(entry.name)
        with suppress(OSError):
            if descriptor >= FIRST_OF_ITS_OWN and os.path.samestat(os.fstat(descriptor), lock):
                os.close(descriptor)


def _alive_lock(environ: Mapping[str, str]) -> os.stat_result | None:
    try:
        job, number, _ = environ[env_vars.ATTEMPT_ID].split(".")
        attempt = Workspace(Path(environ[env_vars.ROOT])).attempt(JobId(int(job)), int(number))
        return attempt.alive_lock.stat()
    except (KeyError, ValueError, OSError):
        return None
