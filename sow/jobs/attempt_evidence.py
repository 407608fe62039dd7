"""Proof of an attempt's life and death, from its folder and its supervisor's identity.

Owns the lock that proves life and the mark by which an attempt is given up.
A held lock proves life in any pid namespace of this kernel; a free one alone
proves nothing, for programs close inherited descriptors. Judges no ending.
"""

import errno
import fcntl
import os

from sow.jobs import doorbell
from sow.paths import AttemptPaths
from sow.processes import facts
from sow.processes.facts import Life
from sow.schema.job import Attempt


def is_locked(paths: AttemptPaths) -> bool:
    """Whether the supervisor or the agent holds the attempt's lock: one of them lives."""
    return doorbell.is_held(paths.alive_lock)


def declare_void(paths: AttemptPaths) -> bool:
    """Give an attempt up for good; False while its lock is held.

    A worker can die between starting a supervisor and the supervisor's first
    act. Such a supervisor finds the mark under the lock and starts nothing.
    """
    if not paths.folder.is_dir():
        return True
    flags = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    flags |= os.O_NOFOLLOW
    try:
        fd = os.open(paths.alive_lock, flags, 0o600)
    except OSError as error:
        if error.errno not in (*doorbell.NO_LOCK, errno.EISDIR):
            raise
        _mark_void(paths)  # what lies there is no lock, and nobody can hold it
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _mark_void(paths)
    except BlockingIOError:
        return False
    else:
        return True
    finally:
        os.close(fd)


def _mark_void(paths: AttemptPaths) -> None:
    os.close(os.open(paths.void, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))


def is_in_doubt(attempt: Attempt, paths: AttemptPaths) -> bool:
    """Whether nobody here can tell if an attempt still runs: only a person can.

    Its supervisor was started in another pid namespace (a container, say),
    nothing holds its lock, and its end was not written down.
    """
    supervisor = attempt.supervisor
    if supervisor is None:
        return False
    if facts.life_of(supervisor, paths.folder) is not Life.UNVERIFIABLE:
        return False
    has_ended = paths.exit.exists() or paths.void.exists()
    return not has_ended and not is_locked(paths)
