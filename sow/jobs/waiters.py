"""Who waits for a job's outcome, which outcomes are owed, and whose slots are free meanwhile.

A waiter has one bell and a row for each job it waits for. The bell is there
before the call's job is on record, and the row is inserted together with the
job. So a caller that dies at any moment is still owed the outcome: its row is
there, and nobody holds its bell. A waiter that comes later for the same job
takes over what is owed to one that has died (`take_owed`). The row is deleted
when the outcome has been printed. Who only lets a job end, and tells of no outcome,
says so in its id (`PASSING`): nothing is owed to it though it is killed.

A call that detaches has no bell: its row (`DETACHED`) says that no command has shown the outcome
yet. That is for `sow next` to name. The same call again is owed nothing, for it asked for none.

In a shared queue an id ends with its host's: of another host's calls nobody here knows whether they
wait, and what they are owed is their host's to print.

What a command prints for `sow mcp` has reached nobody yet. The server hangs a
bell of its own for each call, an escrow: the row is put under the escrow's id then,
and the server deletes it once its client has been written the answer.

While an agent waits for a job that it started, its own job does not count
against the limits: `leases.CLAIMABLE` leaves it out of every count.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from sow import env_vars
from sow.ids import JobId, ProjectId, TaskId
from sow.jobs import doorbell, records
from sow.jobs.database import Database
from sow.jobs.store import HOST_MARK
from sow.paths import Workspace
from sow.plain_record import PlainRecord
from sow.schema.job import FINAL_STATES

BELL_SUFFIX = ".bell"
CALLER = "c"
"""Begins the id of a call that waits for outcomes."""
PASSING = "p"
"""Begins the id of one that waits for the end of a job alone: it is owed nothing."""
DETACHED = "d"
"""Begins the id of a call that went away as soon as its job was queued."""
_IS_DETACHED = f"waiter.id >= '{DETACHED}' and waiter.id < '{chr(ord(DETACHED) + 1)}'"
"""In SQL; by the order of ids, which has an index."""
ESCROW_ID = r"m\d{1,10}-[0-9a-f]{8}"


def escrow_in(environ: Mapping[str, str]) -> str | None:
    """Return the id of the escrow into which this process's outcomes go, if they go into one."""
    found = environ.get(env_vars.ESCROW, "")
    return found if found and re.fullmatch(ESCROW_ID, found) else None


def bell_path(workspace: Workspace, waiter_id: str) -> Path:
    """Return where a waiter's bell hangs."""
    if HOST_MARK in waiter_id:  # it says whose bell it is; a bell is of this host
        waiter_id = waiter_id.partition(HOST_MARK)[0]
    return workspace.waiters / f"{waiter_id}{BELL_SUFFIX}"


class Recipient:
    """Who is to learn the outcomes of a call's jobs: by itself a call that goes away at once."""

    def __init__(self, database: Database, now: Callable[[], float], kind: str = DETACHED) -> None:
        """`now` returns the time, in seconds since the epoch; `kind` begins its id."""
        self.database = database
        self.now = now
        self.job_ids: list[JobId] = []
        self.id = f"{kind}{os.getpid()}-{os.urandom(4).hex()}"
        if database.is_shared:
            self.id = database.named(self.id)

    def expect(self, job_id: JobId) -> None:
        """Put on record that nobody has shown the outcome of a job of ours.

        Call it in the transaction that inserts the job.
        """
        self._begin(job_id, on_behalf_of=None)

    def delivered(self, job_id: JobId) -> None:
        """Say that the caller has got this job's outcome, or knows that there will be none."""
        end(self.database, self.id, job_id)
        self.job_ids.remove(job_id)

    def _begin(self, job_id: JobId, *, on_behalf_of: JobId | None) -> None:
        begin(self.database, self.id, job_id, on_behalf_of=on_behalf_of, now=self.now())
        self.job_ids.append(job_id)


def begin(
    database: Database, waiter_id: str, job_id: JobId, *, on_behalf_of: JobId | None, now: float
) -> None:
    """Put a waiter on record; its bell must hang by now."""
    database.run(
        "insert into waiter (id, job_id, on_behalf_of, created_at) values (?, ?, ?, ?)",
        (waiter_id, job_id, on_behalf_of, now),
    )


def end(database: Database, waiter_id: str, job_id: JobId) -> bool:
    """Strike a waiter off one job: it has the outcome, or was never owed one. Tell if it was on."""
    sql = "delete from waiter where id = ? and job_id = ?"
    return database.run(sql, (waiter_id, job_id)) > 0


def forget(database: Database, waiter_id: str) -> None:
    """Strike a waiter off all its jobs."""
    database.run("delete from waiter where id = ?", (waiter_id,))


def put_into(database: Database, escrow: str, job_id: JobId, *, now: float) -> None:
    """Owe a job's outcome to whoever reads what an escrow's server writes."""
    database.run(
        "insert into waiter (id, job_id, created_at) values (?, ?, ?) on conflict do nothing",
        (database.named(escrow), job_id, now),
    )


def in_escrow(database: Database, escrow: str) -> list[JobId]:
    """Return the jobs whose outcomes lie in an escrow."""
    sql = "select job_id from waiter where id = ? order by job_id"
    rows = database.rows(sql, (database.named(escrow),))
    return [JobId(row["job_id"]) for row in rows]


def owe_again(database: Database, escrow: str, job_id: JobId, *, now: float) -> None:
    """Owe an outcome that counted as told; not where a later job of its task has made it old."""
    database.run(
        """insert into waiter (id, job_id, created_at)
        select ?, job.id, ? from job where job.id = ? and not exists (
            select 1 from job later where later.project_id = job.project_id
            and later.task_id = job.task_id and later.id > job.id)
        on conflict do nothing""",
        (database.named(escrow), now, job_id),
    )


def stop_lending(database: Database, waiter_id: str) -> None:
    """Keep what a waiter is owed, but give the slot back to the job it acted for."""
    database.run("update waiter set on_behalf_of = null where id = ?", (waiter_id,))


def of_job(database: Database, job_id: JobId) -> list[str]:
    """Return the waiters of a job, living or gone."""
    rows = database.rows("select id from waiter where job_id = ? order by created_at", (job_id,))
    return [row["id"] for row in rows]


def ring_job(database: Database, workspace: Workspace, job_id: JobId) -> None:
    """Wake everyone who waits for a job; call it after the final commit."""
    ring(workspace, of_job(database, job_id))


def ring(workspace: Workspace, waiter_ids: Iterable[str]) -> None:
    """Wake some waiters. Whoever comes later looks at the job, which has ended by then."""
    for waiter_id in waiter_ids:  # another host's hears of it by the server
        doorbell.ring(bell_path(workspace, waiter_id))


def is_owed(database: Database, workspace: Workspace, job_id: JobId) -> bool:
    """Whether a caller of a job went away without its outcome."""
    return any(True for _ in _gone(database, workspace, job_id))


def _gone(database: Database, workspace: Workspace, job_id: JobId) -> Iterator[str]:
    """Yield the callers that went away without a job's outcome; those of this host alone."""
    for waiter_id in of_job(database, job_id):
        is_owed = not waiter_id.startswith((PASSING, DETACHED))
        if database.is_shared and database.is_elsewhere(waiter_id):
            continue  # its own host owes it the outcome
        if is_owed and not doorbell.is_held(bell_path(workspace, waiter_id)):
            yield waiter_id


def owed_tasks(
    database: Database, workspace: Workspace, project_id: ProjectId
) -> list[tuple[TaskId, JobId]]:
    """Return the tasks whose last job has ended without telling a caller that went away."""
    ended = records.among("job.state", sorted(FINAL_STATES))
    sql = f"""
        select distinct job.task_id, job.id from waiter join job on job.id = waiter.job_id
        where job.project_id = ? and {ended} order by job.id
    """  # noqa: S608 - words of ours
    rows = database.rows(sql, (project_id,))
    found = [(TaskId(row["task_id"]), JobId(row["id"])) for row in rows]
    return [(task, job) for task, job in found if is_owed(database, workspace, job)]


class Unshown(PlainRecord):
    """A job of a detached call that has ended, and whose outcome no command has shown."""

    task_id: TaskId
    job_id: JobId
    status: str | None
    """The status in which the job has left its task; None where it leaves that alone."""
    ended_at: float


def unshown(database: Database, project_id: ProjectId) -> list[Unshown]:
    """Return the jobs of detached calls that have ended, and whose outcomes were not shown."""
    ended = records.among("job.state", sorted(FINAL_STATES))
    sql = f"""
        select distinct job.task_id, job.id, job.outcome_status, job.ended_at
        from waiter join job on job.id = waiter.job_id
        where {_IS_DETACHED} and job.project_id = ? and {ended} order by job.id
    """  # noqa: S608 - words of ours
    rows = database.rows(sql, (project_id,))
    return [
        Unshown(
            TaskId(row["task_id"]), JobId(row["id"]), row["outcome_status"], row["ended_at"] or 0.0
        )
        for row in rows
    ]


def take_detached(database: Database, job_id: JobId) -> bool:
    """Note that a job's outcome has been shown, or is about to be; tell whether it had not been."""
    sql = f"delete from waiter where job_id = ? and {_IS_DETACHED}"  # noqa: S608 - words of ours
    return database.run(sql, (job_id,)) > 0


def forget_detached(database: Database, project_id: ProjectId) -> None:
    """Let nobody be shown the outcomes of a project's detached calls any more: it has ended."""
    of_project = "job_id in (select id from job where project_id = ?)"
    database.run(
        f"delete from waiter where {_IS_DETACHED} and {of_project}",  # noqa: S608 - words of ours
        (project_id,),
    )


def is_unshown(database: Database, job_id: JobId) -> bool:
    """Whether a job is a detached call's, and no command has shown its outcome."""
    return any(waiter_id.startswith(DETACHED) for waiter_id in of_job(database, job_id))


def take_owed(database: Database, workspace: Workspace, job_id: JobId) -> bool:
    """Claim the outcome owed to one caller that went away; tell whether there was one."""
    for waiter_id in _gone(database, workspace, job_id):
        taken = end(database, waiter_id, job_id)
        bell_path(workspace, waiter_id).unlink(missing_ok=True)
        if taken:
            return True
    return False


def strike_gone(
    database: Database, workspace: Workspace, job_id: JobId, *, escrow: str | None, now: float
) -> None:
    """Owe a job's outcome to no caller that went away or detached: it has just been shown.

    With an escrow it was shown to a server; what was owed then lies there.
    """
    if not (is_owed(database, workspace, job_id) or is_unshown(database, job_id)):
        return
    with database.transaction():
        take_detached(database, job_id)
        while take_owed(database, workspace, job_id):
            pass
        if escrow is not None:
            put_into(database, escrow, job_id, now=now)


def withdraw(
    database: Database, workspace: Workspace, job_id: JobId, *, known_to: str | None
) -> None:
    """Owe nothing for a job that was never queued: to `known_to`, which knows, nor to the gone."""
    for waiter_id in of_job(database, job_id):
        if waiter_id != known_to and database.is_shared and database.is_elsewhere(waiter_id):
            continue
        if waiter_id == known_to or not doorbell.is_held(bell_path(workspace, waiter_id)):
            end(database, waiter_id, job_id)


def lapse(database: Database, workspace: Workspace, job_id: JobId) -> None:
    """Forget what earlier callers of a job are owed, and take down the bells of the dead."""
    for waiter_id in of_job(database, job_id):
        if database.is_shared and database.is_elsewhere(waiter_id):
            continue
        path = bell_path(workspace, waiter_id)
        if not doorbell.is_held(path):
            path.unlink(missing_ok=True)
    database.run("delete from waiter where job_id = ?", (job_id,))


def reclaim_lent(database: Database, workspace: Workspace) -> None:
    """Count the jobs again whose waiting calls have died: a killed caller waits for nothing."""
    rows = database.rows("select id from waiter where on_behalf_of is not null")
    for row in rows:
        if database.is_shared and database.is_elsewhere(row["id"]):
            continue
        if not doorbell.is_held(bell_path(workspace, row["id"])):
            stop_lending(database, row["id"])
