"""Who works on the queue: registrations, and the proof of life behind them.

Owns the rule that a worker lives exactly as long as the lock on its file is
held (the kernel frees it at death), and the doorbell that wakes workers. Of
another host's worker no lock tells anything: it lives while the server hears it.
"""

import os
import time
from _signal import SIGTERM, SIGUSR1  # type: ignore[import-not-found]  # `signal` takes long
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec.structs import asdict

from sow.errors import QueueError
from sow.ids import ProjectId, WorkerId
from sow.jobs import doorbell, records
from sow.jobs.database import FORMAT, Database
from sow.jobs.jobs import has_active_jobs
from sow.paths import Workspace
from sow.processes import process_facts
from sow.processes.disks import is_on_shared_disk
from sow.processes.life import Life
from sow.schema.job import WorkerRecord

BELL_SUFFIX = ".bell"
LEAVE_SECONDS = 3.0
"""How long a worker of an older sow is waited for at most after it was asked to leave; it leaves
within two, or drains."""
LOOK_SECONDS = 0.02
SAY_SECONDS = 1.0
"""How long a locked queue delays a worker's leave at most, to have it on record."""

STAYS = """
    worker where format >= ?
        and not exists (select 1 from control where name = 'worker ' || worker.id)
    order by started_at, id
"""
"""The workers that were not asked to leave: a row of `control` says of each other one that it
was, or that it leaves by itself."""
OLDER_THAT_LEAVE = """
    select worker.id, control.value from worker
        join control on control.name = 'worker ' || worker.id
    where worker.format < ?
"""
END_AGENTS = SIGUSR1
"""Asks a worker to leave and to end its agents first, as two of the usual signals do: of those,
the first may have made it leave before the second arrives."""


def register(database: Database, record: WorkerRecord) -> None:
    """Put a worker on record. It must hold its lock by now."""
    records.insert(database, "worker", asdict(record))


def is_registered(database: Database, worker_id: WorkerId) -> bool:
    """Whether a worker is on record."""
    return database.row("select 1 from worker where id = ?", (worker_id,)) is not None


def say_short(database: Database, worker_id: WorkerId, short_of: str) -> None:
    """Put on record what a worker is short of; nothing where it is not, or not any more."""
    database.run("update worker set short_of = ? where id = ?", (short_of, worker_id))


def shortage_of(living: Sequence[WorkerRecord]) -> str:
    """Return what workers are short of, where each is of something; empty where one takes jobs."""
    return living[0].short_of if all(worker.short_of for worker in living) and living else ""


def short_of(database: Database, workspace: Workspace) -> str:
    """Return what keeps every living worker from taking jobs; empty where one takes them."""
    if database.row("select 1 from worker where short_of <> '' limit 1") is None:
        return ""
    return shortage_of(living(database, workspace))


def say_leaving(database: Database, worker_id: WorkerId, *, now: float) -> bool:
    """Put on record that a worker leaves, and since when; return whether it was not there before.

    It takes no more jobs, but may drain for long. Nothing is written of one that is not on record,
    or not any more: nobody would strike that off.
    """
    noted = database.run(
        """
        insert into control (name, value)
        select 'worker ' || id, cast(? as text) from worker where id = ? on conflict do nothing
        """,
        (f"leaves since {now}", worker_id),
    )
    return noted > 0


def unregister(database: Database, worker_id: WorkerId) -> None:
    """Strike a worker off the record."""
    with database.transaction():
        database.run("delete from worker where id = ?", (worker_id,))
        database.run("delete from control where name = ?", (f"worker {worker_id}",))


def unregister_if_idle(database: Database, worker_id: WorkerId, project_id: ProjectId) -> bool:
    """Strike a worker off the record, unless there is work; tell whether it was."""
    with database.transaction():
        if has_work(database, project_id):
            return False
        unregister(database, worker_id)
        return True


def has_work(database: Database, project_id: ProjectId) -> bool:
    """Whether a worker has anything to do: a job that is to end, or a batch to be driven.

    `project_id` is the project that is checked out; the batches of others wait for theirs.
    """
    # Large, and only workers ask: of callers, who import this module too, none waits for it.
    from sow.jobs.batch_news import pending

    return has_active_jobs(database) or bool(
        pending(database, project_id, lambda _: None, to_drive=True)
    )


def registered(
    database: Database, on_damaged: Callable[[records.DamagedRecord], None] = records.refuse
) -> list[WorkerRecord]:
    """Return all workers on record, oldest first; the dead ones are still among them."""
    source = "worker order by started_at, id"
    return records.every(database, WorkerRecord, source, on_damaged=on_damaged)


def is_alive(workspace: Workspace, worker_id: WorkerId) -> bool:
    """Whether a worker of this host holds the lock on its file; no other has one here."""
    return doorbell.is_held(workspace.worker_lock(worker_id))


def living(
    database: Database, workspace: Workspace, *, everywhere: bool = True
) -> list[WorkerRecord]:
    """Return the workers that live, oldest first; those of other hosts too, or not."""
    some = registered(database)
    if everywhere and database.is_shared:
        return _living_everywhere(database, workspace, some)
    return [worker for worker in some if is_alive(workspace, worker.id)]


def _living_everywhere(
    database: Database, workspace: Workspace, some: list[WorkerRecord]
) -> list[WorkerRecord]:
    # Few queues are shared.
    from sow.jobs.server_deadlines import heard_workers

    heard = heard_workers(database)
    return [
        worker
        for worker in some
        if (
            worker.id in heard
            if database.is_elsewhere(worker.id)
            else is_alive(workspace, worker.id)
        )
    ]


def find(database: Database, worker_id: WorkerId) -> WorkerRecord | None:
    """Return the record of a worker that is registered."""
    return records.first(database, WorkerRecord, "worker where id = ?", worker_id)


def life_of(
    database: Database, workspace: Workspace, worker_id: WorkerId, record: WorkerRecord | None
) -> Life:
    """Tell whether a worker lives, and call it dead only where that is proved.

    One of another host lives while the server hears it, and is as good as dead when it did not for
    as long as a lease is: it has ended its agents by then. Of one of this host:

    A held lock proves life. A free one proves death on a disk of this machine,
    for the kernel frees it at death and at no other time. Without such a file:
    a worker that is not on record has struck itself off, as its last act; one
    that is on record is judged by its process. Where that runs here, it takes
    itself for dead when it finds its file gone, and what it writes until then is
    fenced. All else is unverifiable: a worker of another machine or namespace
    whose file is gone, or lies on a disk that others see; one whose file may
    not be opened and whose process is not proved dead.
    """
    if database.is_shared and database.is_elsewhere(worker_id):
        # Few queues are shared.
        from sow.jobs.server_deadlines import is_heard

        return Life.ALIVE if is_heard(database, worker_id) else Life.DEAD
    lock = workspace.worker_lock(worker_id)
    process = (
        Life.UNVERIFIABLE
        if record is None
        else process_facts.life_of(record.process, workspace.run)
    )
    proved_dead = process if process is Life.DEAD else Life.UNVERIFIABLE
    try:
        if doorbell.is_held(lock):
            return Life.ALIVE
    except QueueError:
        return proved_dead
    if os.path.lexists(lock):
        return proved_dead if is_on_shared_disk(workspace.workers) else Life.DEAD
    if record is None:
        return Life.DEAD
    return Life.UNVERIFIABLE if process is Life.UNVERIFIABLE else Life.DEAD


def staff(
    database: Database, workspace: Workspace, *, everywhere: bool = False
) -> list[WorkerRecord]:
    """Return the workers that live and take jobs of this very queue, in the form that it has now.

    Those of this host; `everywhere`: of all that share the queue.

    One that serves a file which was removed is not on record here; one of an older sow is
    about to leave (`dismiss_older`), and so is one that was told to, however long it drains.
    """
    ours = records.every(database, WorkerRecord, STAYS, FORMAT)
    if everywhere and database.is_shared:
        return _living_everywhere(database, workspace, ours)
    return [worker for worker in ours if is_alive(workspace, worker.id)]


def dismiss_older(database: Database, workspace: Workspace, *, now: float) -> list[WorkerId]:
    """Ask the workers of an older sow to leave; return whom. Their agents go on.

    Each is asked once: a second signal would have it end its agents.
    """
    older = [worker for worker in registered(database) if worker.format < FORMAT]
    asked = [
        worker
        for worker in older
        if is_alive(workspace, worker.id) and _may_ask(database, worker, now)
    ]
    for worker in asked:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(worker.process.pid, SIGTERM)
    return [worker.id for worker in asked]


def has_older(database: Database) -> bool:
    """Whether a worker of an older sow is on record.

    Another may still come: sow 0.1 looks at the file's form only when it opens the file.
    """
    return database.row("select 1 from worker where format < ? limit 1", (FORMAT,)) is not None


def let_older_leave(database: Database, workspace: Workspace, *, now: float) -> None:
    """Have the workers of an older sow leave, so that they take no job that is queued next.

    It may need what they do not know, such as a sandbox. Whoever asked one, it is waited for until
    it is gone, or was asked LEAVE_SECONDS ago: at its signal, sow 0.1 claims once more. One that
    drains has done so by then, and takes no more jobs. One that cannot be signalled from here is
    not waited for.
    """
    if not has_older(database):
        return
    dismiss_older(database, workspace, now=now)
    begun, waited = time.monotonic(), 0.0
    while waited < LEAVE_SECONDS and _is_one_leaving(database, workspace, now + waited):
        time.sleep(LOOK_SECONDS)
        waited = time.monotonic() - begun


def _is_one_leaving(database: Database, workspace: Workspace, now: float) -> bool:
    """Whether a worker of an older sow lives that was asked to leave only just now."""
    asked = database.rows(OLDER_THAT_LEAVE, (FORMAT,))
    return any(
        abs(now - _since(row["value"])) < LEAVE_SECONDS and is_alive(workspace, WorkerId(row["id"]))
        for row in asked
    )


def _since(noted: str) -> float:
    """Return since when a worker leaves, by its row; long ago where the row does not tell."""
    try:
        return float(noted.rpartition(" ")[2])
    except ValueError:
        return 0.0


def _may_ask(database: Database, worker: WorkerRecord, now: float) -> bool:
    """Whether a worker can be signalled from here, and nobody has asked it so far."""
    is_here = process_facts.life_of(worker.process) is Life.ALIVE
    return is_here and say_leaving(database, worker.id, now=now)


def wake(workspace: Workspace) -> None:
    """Tell every worker to look at the queue; call it after the commit."""
    doorbell.ring_all(workspace.workers, BELL_SUFFIX)
