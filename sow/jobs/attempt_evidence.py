"""Proof of an attempt's life and death, from its folder and its supervisor's identity.

Owns the lock that proves life and the mark by which an attempt is given up.
A held lock proves life in any pid namespace of this kernel; a free one alone
proves nothing, for programs close inherited descriptors. What does where pids
mean nothing, `elsewhere` says. Judges no ending.
"""

import errno
import os

from sow.evidence import is_named, is_void, record_of
from sow.files import NotAFile, read_regular
from sow.files.flock import try_lock
from sow.jobs import doorbell
from sow.paths import AttemptPaths, Workspace
from sow.processes import process_facts
from sow.processes.life import Life
from sow.schema.job import Attempt, ProcessIdentity

RECORD_LIMIT = 1 << 16
"""More than any record of a supervisor takes, in bytes."""


EVIDENCE = (
    "output.jsonl",
    "stderr.log",
    "started.json",
    "exit.json",
    "result.json",
    "void",
    "alive.lock",
    "supervisor.log",
    "found.json",
    "blanked",
    "proxy",
    "refused",
)
"""What nobody leaves in an attempt's folder before the attempt is on record, if perhaps not on
disk."""


def is_locked(paths: AttemptPaths) -> bool:
    """Whether the supervisor or the agent holds the attempt's lock: one of them lives."""
    return doorbell.is_held(paths.alive_lock)


def has_exit(paths: AttemptPaths, attempt_id: str) -> bool:
    """Whether the end of this very attempt is on record. Raises OSError."""
    if not paths.exit.exists():
        return False
    if not is_named(attempt_id):
        return True
    try:
        return bool(record_of(read_regular(paths.exit, RECORD_LIMIT), attempt_id))
    except (FileNotFoundError, NotAFile):
        return False


def is_given_up(paths: AttemptPaths, attempt_id: str) -> bool:
    """Whether this very attempt was given up. Raises OSError."""
    if not paths.void.exists():
        return False
    try:
        return is_void(read_regular(paths.void, RECORD_LIMIT), attempt_id)
    except (FileNotFoundError, NotAFile):
        return not is_named(attempt_id)


def declare_void(paths: AttemptPaths, attempt_id: str) -> bool:
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
        _mark_void(paths, attempt_id)  # what lies there is no lock, and nobody can hold it
        return True
    try:
        if not try_lock(fd):
            return False
        _mark_void(paths, attempt_id)
        return True
    finally:
        os.close(fd)


def put_foreign_aside(workspace: Workspace, paths: AttemptPaths) -> None:
    """Move evidence out of the way of an attempt that is about to begin, and is not on record.

    A pull has brought it, the folder is a link, or the power was lost before the disk had taken
    the record of an attempt that had begun. Raises LeadsOut, OSError.
    """
    job = paths.folder.parent
    if job.is_symlink():
        foreign = job
    elif not os.path.lexists(paths.folder):
        return  # so it is with every attempt but one that begins anew
    elif paths.folder.is_symlink() or any(
        os.path.lexists(f"{paths.folder}/{name}") for name in EVIDENCE
    ):
        foreign = paths.folder
    else:
        return
    # For what lies there by such a mishap.
    from sow.jobs.putting_aside import UNPROVEN, move_aside

    move_aside(workspace.queue_db, [foreign], kind=UNPROVEN)


def _mark_void(paths: AttemptPaths, attempt_id: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    fd = os.open(paths.void, flags, 0o600)
    try:
        os.write(fd, attempt_id.encode())
    finally:
        os.close(fd)


def life_of_supervisor(supervisor: ProcessIdentity, paths: AttemptPaths) -> Life:
    """Tell whether an attempt's supervisor lives.

    Of one in another pid namespace its locks tell; then it is dead only with the agent that it may
    have left behind.
    """
    life = process_facts.life_of(supervisor, paths.folder)
    if life is not Life.UNVERIFIABLE:
        return life
    # Only where a container was started again, or two share a checkout.
    from sow.jobs.elsewhere import is_supervisor_gone

    return Life.DEAD if is_supervisor_gone(paths) else life


def is_in_doubt(attempt: Attempt, paths: AttemptPaths) -> bool:
    """Whether nobody here can tell if an attempt still runs: only a person can.

    Its supervisor was started in another pid namespace (a container, say),
    nothing holds its lock, and its end was not written down. That the lock is
    free proves nothing here: other machines see the disk, or a process has the
    agent's output open.
    """
    supervisor = attempt.supervisor
    if supervisor is None:
        return False
    if life_of_supervisor(supervisor, paths) is not Life.UNVERIFIABLE:
        return False
    has_ended = has_exit(paths, attempt.id) or is_given_up(paths, attempt.id)
    return not has_ended and not is_locked(paths)
