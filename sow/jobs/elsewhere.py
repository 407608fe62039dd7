"""Processes of another pid namespace that have ended, proved by the locks that they held.

A container that is started again is another namespace of the same kernel. Nothing can be seen there
of the processes of before. But a lock is the kernel's, not a namespace's: it is freed when its last
holder has ended, and at no other time. Owns which lock, or which other fact, decides for a
supervisor, for an opened session and for a call. It is asked only of a process of which
`process_facts.life_of` cannot tell. On a disk that other machines see as well locks decide nothing.
"""

import os

from sow.files.writers import is_written_to
from sow.jobs import doorbell, waiters
from sow.jobs.database import Database
from sow.paths import AttemptPaths, Workspace
from sow.processes.disks import is_local
from sow.schema.job import Job

PLACING_SECONDS = 600.0
"""After so long a job that is still `preparing` was left by its call, where no lock tells. A call
that goes on all the same loses nothing but its job: each of its steps looks at the record first."""


def is_supervisor_gone(paths: AttemptPaths) -> bool:
    """Whether an attempt's supervisor has ended, and the agent that it may have left behind.

    Both hold `alive.lock`. An agent may have closed what it inherited, but then its output still
    goes into files that it has open.
    """
    if not is_local(paths.folder) or doorbell.is_held(paths.alive_lock):
        return False
    return all(is_written_to(path) is False for path in (paths.output, paths.stderr))


def is_opener_gone(paths: AttemptPaths) -> bool:
    """Whether a session that was opened on a terminal has ended: the lock that it made is free."""
    was_locked = os.path.lexists(paths.alive_lock)
    return was_locked and is_local(paths.folder) and not doorbell.is_held(paths.alive_lock)


def is_caller_gone(workspace: Workspace, database: Database, job: Job, *, now: float) -> bool:
    """Whether the call that was placing a job has ended.

    One that waits holds its bell. What a batch wants done is placed by whichever worker holds the
    lock of the batches. Another call places its job within seconds.
    """
    assert job.caller is not None  # noqa: S101 - nobody can tell whether it lives
    if is_local(workspace.run):
        bells = [
            waiters.bell_path(workspace, waiter_id)
            for waiter_id in waiters.of_job(database, job.id)
            if waiter_id.startswith(f"{waiters.CALLER}{job.caller.pid}-")
        ]
        if bells:
            return not any(map(doorbell.is_held, bells))
        if job.batch_step is not None and not doorbell.is_held(workspace.batches_lock):
            return True
    return now - job.created_at > PLACING_SECONDS
