"""A worker's name: the lock that is its life, and its place on record.

Owns both from the first to the last moment. Nobody is on record without a lock. A worker that an
agent's own shell has started lets go first of what it inherited: the lock on the attempt's
`alive.lock`, which an agent hands down to all that it starts, and its group of processes. It
outlives that attempt, so it must not go on proving its life, nor be counted among what is left.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from sow import __version__, env_vars
from sow.clock import utc_now
from sow.errors import QueueError
from sow.files.flock import try_lock
from sow.ids import JobId, WorkerId
from sow.jobs import workers
from sow.jobs.database import FORMAT
from sow.jobs.doorbell import is_held
from sow.paths import Workspace
from sow.processes import process_facts
from sow.schema.job import WorkerRecord
from worker.context import WorkerContext, logger

DRAFT_SUFFIX = ".lock.new"
STRIKE_SECONDS = 5.0
"""How long a worker that leaves waits for a locked queue; whoever stops it waits meanwhile."""


def take_name(workspace: Workspace, on_record: Callable[[str], str] = str) -> tuple[WorkerId, int]:
    """Make and lock a worker's file. The lock is the worker's life; the file tells who holds it.

    `on_record` returns a name as the queue has it (`Database.named`).

    It gets its name when it is locked, so that a lock file nobody holds is a dead worker's.
    Until it is locked, another worker may look at the draft, or clear it away: then it is
    made anew, under another name.
    """
    identity = process_facts.identify(os.getpid())
    assert identity is not None  # noqa: S101 - this very process
    while True:
        worker_id = WorkerId(on_record(f"w{identity.pid}-{os.urandom(3).hex()}"))
        draft = workspace.workers / f".{worker_id}{DRAFT_SUFFIX}"
        fd = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with suppress(FileNotFoundError):
            if try_lock(fd):
                os.write(fd, f"{identity.pid} {identity.start_ticks}\n".encode())
                draft.rename(workspace.worker_lock(worker_id))
                return worker_id, fd
        os.close(fd)
        draft.unlink(missing_ok=True)


def clear_drafts(workspace: Workspace) -> None:
    """Remove the drafts of workers that were killed before their file had its name."""
    for draft in workspace.workers.glob(f".w*{DRAFT_SUFFIX}"):
        with suppress(QueueError, OSError):  # another user's: it harms nobody
            if not is_held(draft):
                draft.unlink(missing_ok=True)


def register(context: WorkerContext, *, concurrency: int, background: bool) -> None:
    """Go on record, and ask workers of an older sow to leave."""
    record = _record(context, concurrency, background)
    workers.register(context.database, record)
    if context.database.is_shared:
        # Few queues are shared.
        from worker.hosting import publish

        publish(context)
    for older in workers.dismiss_older(context.database, context.workspace, now=record.started_at):
        logger.info("worker %s is from an older version of sow; it was asked to stop", older)
    logger.info("worker %s started; runs up to %d agents", context.worker_id, concurrency)


def register_again(context: WorkerContext, *, concurrency: int, background: bool) -> None:
    """Go on record again, where another host has struck us off after a long silence."""
    with context.database.transaction():
        if not workers.is_registered(context.database, context.worker_id):
            workers.register(context.database, _record(context, concurrency, background))
            words = "worker %s was not heard for too long; it is on record again"
            logger.info(words, context.worker_id)
    context.hearing.is_on_record = True


def _record(context: WorkerContext, concurrency: int, background: bool) -> WorkerRecord:
    identity = process_facts.identify(os.getpid())
    assert identity is not None  # noqa: S101 - this very process
    return WorkerRecord(
        id=context.worker_id,
        process=identity,
        concurrency=concurrency,
        version=__version__,
        background=background,
        started_at=utc_now(),
        format=FORMAT,
        checks=context.configuration.worker.checks,
    )


def say_leaving(context: WorkerContext) -> None:
    """Put on record that we take no more jobs, so that a call starts another worker meanwhile.

    Draining may take long. Where this fails, calls count on us until we are gone.
    """
    with suppress(QueueError), context.database.hurried(workers.SAY_SECONDS):
        workers.say_leaving(context.database, context.worker_id, now=utc_now())


def strike_off(context: WorkerContext) -> None:
    """Leave the record. Where that fails, whoever finds our lock free strikes us off."""
    with suppress(QueueError), context.database.hurried(STRIKE_SECONDS):
        workers.unregister(context.database, context.worker_id)


def give_up_name(context: WorkerContext, lock: int) -> None:
    """Remove our file and free our lock: what is still leased is for the next worker to adopt."""
    with suppress(OSError):
        context.workspace.worker_lock(context.worker_id).unlink(missing_ok=True)
    os.close(lock)
    logger.info("worker %s left", context.worker_id)


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
    if lock is not None:
        _close_inherited(lock)


def release_start_lock(workspace: Workspace) -> None:
    """Close the lock of our start, if a call has started us: we are on record by now."""
    with suppress(OSError):
        _close_inherited(workspace.start_lock.stat())


def _close_inherited(file: os.stat_result) -> None:
    for entry in list(DESCRIPTORS.iterdir()):
        descriptor = int(entry.name)
        with suppress(OSError):
            if descriptor >= FIRST_OF_ITS_OWN and os.path.samestat(os.fstat(descriptor), file):
                os.close(descriptor)


def _alive_lock(environ: Mapping[str, str]) -> os.stat_result | None:
    try:
        job, number, _ = environ[env_vars.ATTEMPT_ID].split(".")
        attempt = Workspace(Path(environ[env_vars.ROOT])).attempt(JobId(int(job)), int(number))
        return attempt.alive_lock.stat()
    except (KeyError, ValueError, OSError):
        return None
