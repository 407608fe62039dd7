"""Who works on the queue: registrations, and the proof of life behind them.

Owns the rule that a worker lives exactly as long as the lock on its file is
held (the kernel frees it at death), and the doorbell that wakes workers.
"""

import signal

from sow.ids import WorkerId
from sow.jobs import doorbell, records
from sow.jobs.database import Database
from sow.jobs.jobs import has_active_jobs
from sow.paths import Workspace
from sow.schema.job import WorkerRecord

BELL_SUFFIX = ".bell"

END_AGENTS = signal.SIGUSR1
"""Asks a worker to leave and to end its agents first, as two of the usual signals do: of those,
the first may have made it leave before the second arrives."""


def register(database: Database, record: WorkerRecord) -> None:
    """Put a worker on record. It must hold its lock by now."""
    fields = {name: getattr(record, name) for name in WorkerRecord.__struct_fields__}
    records.insert(database, "worker", fields)


def unregister(database: Database, worker_id: WorkerId) -> None:
    """Strike a worker off the record."""
    database.run("delete from worker where id = ?", (worker_id,))


def unregister_if_idle(database: Database, worker_id: WorkerId) -> bool:
    """Strike a worker off the record, unless any job is still to end; tell whether it was."""
    with database.transaction():
        if has_active_jobs(database):
            return False
        unregister(database, worker_id)
        return True


def registered(database: Database) -> list[WorkerRecord]:
    """Return all workers on record, oldest first; the dead ones are still among them."""
    rows = database.rows("select * from worker order by started_at, id")
    return [records.from_row(row, WorkerRecord) for row in rows]


def is_alive(workspace: Workspace, worker_id: WorkerId) -> bool:
    """Whether a worker holds the lock on its file."""
    return doorbell.is_held(workspace.worker_lock(worker_id))


def any_alive(workspace: Workspace) -> bool:
    """Whether any worker of the workspace lives, registered yet or not."""
    if not workspace.workers.is_dir():
        return False
    return any(doorbell.is_held(path) for path in workspace.workers.glob("*.lock"))


def wake(workspace: Workspace) -> None:
    """Tell every worker to look at the queue; call it after the commit."""
    doorbell.ring_all(workspace.workers, BELL_SUFFIX)
