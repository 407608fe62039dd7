"""Who works on the queue: registrations, and the proof of life behind them.

Owns the rule that a worker lives exactly as long as the lock on its file is
held (the kernel frees it at death), and the doorbell that wakes workers.
"""

import os
import signal
from contextlib import suppress

from sow.ids import WorkerId
from sow.jobs import doorbell, records
from sow.jobs.database import Database
from sow.jobs.jobs import has_active_jobs
from sow.jobs.migrations import FORMAT
from sow.paths import Workspace
from sow.processes import facts
from sow.processes.facts import Life
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
    with database.transaction():
        database.run("delete from worker where id = ?", (worker_id,))
        database.run("delete from control where name = ?", (f"worker {worker_id}",))


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


def staff(database: Database, workspace: Workspace) -> list[WorkerRecord]:
    """Return the workers that live and serve this very file, in the form that it has now.

    One that serves a file which was removed is not on record here, and one of
    an older sow is about to leave (`dismiss_older`).
    """
    return [
        one for one in registered(database) if one.format >= FORMAT and is_alive(workspace, one.id)
    ]


def dismiss_older(database: Database, workspace: Workspace) -> list[WorkerId]:
    """Ask the workers of an older sow to leave; return whom. Their agents go on.

    Each is asked once: a second signal would have it end its agents.
    """
    older = [one for one in registered(database) if one.format < FORMAT]
    asked = [one for one in older if is_alive(workspace, one.id) and _may_ask(database, one)]
    for one in asked:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(one.process.pid, signal.SIGTERM)
    return [one.id for one in asked]


def _may_ask(database: Database, one: WorkerRecord) -> bool:
    """Whether a worker can be signalled from here, and nobody has asked it so far."""
    if facts.life_of(one.process) is not Life.ALIVE:
        return False
    asked = database.run(
        "insert or ignore into control (name, value) values (?, 'asked to leave')",
        (f"worker {one.id}",),
    )
    return asked.rowcount > 0


def wake(workspace: Workspace) -> None:
    """Tell every worker to look at the queue; call it after the commit."""
    doorbell.ring_all(workspace.workers, BELL_SUFFIX)
