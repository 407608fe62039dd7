"""The entries in the logs that tell how jobs have ended: one for each job, in its task's log.

The logs outlive the queue's file. Every end is on record there first, whoever
ends the job, and written into the log by whoever looks next: the same command,
a worker, or the next one. The id of such an entry follows from its job, so one
that is written twice (by two at once, or again after a kill) is read once.
"""

import sqlite3
from contextlib import suppress
from typing import NamedTuple

from sow.clock import format_time
from sow.digest import sha256
from sow.errors import SowError, StateError
from sow.faults import passing_fault
from sow.files import locked_once, sync_file_system
from sow.ids import JobId, ProjectId
from sow.jobs import jobs, records
from sow.jobs.changes import change_of, file_id
from sow.jobs.database import Database
from sow.jobs.records import DamagedRecord
from sow.paths import Workspace
from sow.schema.change import Change
from sow.schema.job import FINAL_STATES, Job, JobState
from sow.schema.kinds import kind_of
from sow.state.kept.store import project_id_at
from sow.state.log_writing import LogEntry, has_entry, write_entry
from sow.state.places import find_task
from sow.state.status_entries import JOB

LOGGED = "ends of jobs logged up to"
"""The row of `control`, with the project's id behind it, that says where the next look begins."""
RESULTS = {
    JobState.DONE: "success",
    JobState.FAILED: "failure",
    JobState.CANCELLED: "cancelled",
}
ENDS = records.among("kind", sorted(FINAL_STATES))
AT_ONCE = 200


class Logged(NamedTuple):
    """How far the logs of a project tell of ends by now."""

    project: ProjectId
    seq: int
    is_safe: bool = True
    """Whether all of that survives a loss of power already."""


def log_ends(workspace: Workspace, database: Database, after: Logged | None = None) -> None:
    """Tell in the logs of each job of this project that has ended since the last look.

    `after` is what `write_ends` has returned last. Nothing is told of a task that is gone. What
    cannot be written now is left to the next look. Raises nothing.
    """
    _remember(workspace, database, write_ends(workspace, database, after, durable=True))


def write_ends(
    workspace: Workspace, database: Database, after: Logged | None = None, *, durable: bool = False
) -> Logged | None:
    """Do as `log_ends`, and return how far the logs tell of ends by now.

    Nothing of that is put on record: an end that is in a log and not on record there costs the
    next look a glance at that log, and each record costs a commit. Who looks often gives what was
    returned to the next look (`after`), and to `log_ends` now and then. An entry that is not
    `durable` may be lost with the power: `log_ends` sees to it before it goes on record.
    """
    logged = after
    is_safe = after is None or after.is_safe
    with suppress(SowError, OSError):
        project = ProjectId(project_id_at(workspace.root))
        start = after.seq if after is not None and after.project == project else 0
        if not project or not _ends_after(database, project, start):
            return logged
        with locked_once(workspace.project):
            for row in _ends_after(database, project, start):
                if project_id_at(workspace.root) != project:
                    break  # another branch was checked out meanwhile
                with suppress(DamagedRecord):  # it keeps no other end from being told
                    is_safe &= _log_end(workspace, database, change_of(row), durable=durable)
                logged = Logged(project, row["seq"], is_safe)
    return logged


def _remember(workspace: Workspace, database: Database, logged: Logged | None) -> None:
    """Have the next look begin behind what the logs tell of. Raises nothing."""
    if logged is None:
        return
    with suppress(SowError, OSError):
        if logged.seq <= _position(database, logged.project):
            return
        if not logged.is_safe:
            sync_file_system(workspace.project)
        with database.transaction():
            if _position(database, logged.project) < logged.seq:  # somebody may have come further
                database.note(_name(logged.project), logged.seq)


def end_entry(
    database: Database, job: Job, state: JobState, words: str, *, at: float, text: str = ""
) -> LogEntry:
    """Return the entry about the end of a job; `words` say how, or why."""
    last = jobs.last_attempt(database, job.id)
    return LogEntry(
        timestamp=format_time(at),
        agent="sow",
        action=f"Job {job.id} {state.value}: {words}" if words else f"Job {job.id} {state.value}",
        result=RESULTS[state],
        text=text,
        role=job.agent,
        job=job.id,
        attempt=last.number if last is not None else None,
        event=JOB,
        id=_entry_id(database, job),
    )


def _ends_after(database: Database, project: ProjectId, seq: int) -> list[sqlite3.Row]:
    """Return the next ends of jobs that no log tells of yet, oldest first; those behind `seq`."""
    with database.reading():
        return database.rows(
            f"select * from change where seq > ? and project = ? and {ENDS} order by seq limit ?",  # noqa: S608
            (max(seq, _position(database, project)), project, AT_ONCE),
        )


def _position(database: Database, project: ProjectId) -> int:
    return int(database.noted(_name(project)) or 0)


def _log_end(workspace: Workspace, database: Database, end: Change, *, durable: bool) -> bool:
    """Write one entry; tell whether nothing is left that a loss of power could take.

    Raises what a passing fault of the machine is.
    """
    try:
        job = jobs.get_job(database, JobId(end.job or 0))
        folder = find_task(workspace, job.task_id).folder if job.task_id else workspace.project
        state = JobState(end.kind)
        reason = end.data.reason or ""
        entry = end_entry(database, job, state, _words(job, state, reason), at=end.at)
        if has_entry(folder, entry.id):
            return False  # whoever wrote it may not have synced it
        write_entry(folder, entry, durable=durable)
    except StateError as error:
        if passing_fault(error) is not None:
            raise
        return True
    return durable


def _words(job: Job, state: JobState, reason: str) -> str:
    if state is JobState.DONE:
        how = job.outcome_status.value if job.outcome_status else kind_of(job).well_ended
        return f"{job.verb.value} {job.agent}, {how}" if job.agent else f"{job.verb.value}, {how}"
    first = reason.strip().splitlines()[0] if reason.strip() else ""
    return first if first != state.value else ""


def _entry_id(database: Database, job: Job) -> str:
    name = f"{job.project_id} {file_id(database)} {job.id}"
    return str(sha256(name.encode()).hexdigest()[:12])


def _name(project: ProjectId) -> str:
    return f"{LOGGED} {project}"
