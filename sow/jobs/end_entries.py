"""The entries in the logs that tell how jobs have ended: one for each job, in its task's log.

The logs outlive the queue's file. Every end is on record there first, whoever
ends the job, and written into the log by whoever looks next: the same command,
a worker, or the next one. The id of such an entry follows from its job, so one
that is written twice (by two at once, or again after a kill) is read once.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from sow.clock import format_time
from sow.digest import sha256
from sow.errors import SowError, StateError
from sow.faults import passing_fault
from sow.files import locked_once, sync_file_system
from sow.ids import JobId, ProjectId
from sow.jobs import jobs, records
from sow.jobs.changes import change_of, file_id
from sow.jobs.database import Database, Row
from sow.jobs.records import DamagedRecord
from sow.paths import Workspace
from sow.schema.change import Change
from sow.schema.job import FINAL_STATES, Job, JobState
from sow.schema.kinds import kind_of
from sow.state.kept.store import project_id_at
from sow.state.log_writing import LogEntry, write_missing_entry
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
    is_safe: bool
    """Whether all of that survives a loss of power already."""


def log_ends(workspace: Workspace, database: Database, written: set[JobId] | None = None) -> None:
    """Tell in the logs of each job of this project that has ended since the last look.

    `written` are jobs for which this process has done `log_end`: their logs are not searched, and
    those that the look has passed are taken out. Nothing is told of a task that is gone. What
    cannot be written now is left to the next look. Raises nothing.
    """
    with suppress(SowError, OSError):
        logged = _write_ends(workspace, database, set() if written is None else written)
        if logged is not None:
            _remember(workspace, database, logged)


def log_end(
    workspace: Workspace,
    database: Database,
    job: Job,
    *,
    attempt: int | None = None,
    folder: Path | None = None,
) -> bool:
    """Tell in its log how a job has just ended, before anybody is rung; return whether it says so.

    `attempt` is the number of its last one and `folder` that of its task, where they are known.
    Raises nothing.

    The entry may be lost with the power until the next `log_ends`, which writes again what is
    missing; that a log tells of this end does not go on record here.
    """
    with suppress(SowError, OSError):
        if project_id_at(workspace.root) == job.project_id:
            at = job.ended_at or job.created_at
            words = job.state, job.reason
            more: dict[str, Any] = {"durable": False, "attempt": attempt, "folder": folder}
            _write(workspace, database, job, *words, at=at, **more)
            return True
    return False


def _write_ends(workspace: Workspace, database: Database, written: set[JobId]) -> Logged | None:
    """Write the entries that are missing; None where no end is news."""
    logged, is_safe = None, True
    project = ProjectId(project_id_at(workspace.root))
    if not project or not _ends_after(database, project):
        written.clear()
        return None
    with locked_once(workspace.project):
        for row in _ends_after(database, project):
            if project_id_at(workspace.root) != project:
                break  # another branch was checked out meanwhile
            if database.is_shared and _is_of_another_host(database, row["job"]):
                logged = Logged(project, row["seq"], is_safe)
                continue
            if row["job"] in written:
                is_safe = False
                written.discard(row["job"])
                logged = Logged(project, row["seq"], is_safe)
                continue
            with suppress(DamagedRecord):  # it keeps no other end from being told
                is_safe &= _log_end(workspace, database, change_of(row))
            logged = Logged(project, row["seq"], is_safe)
    return logged


def _remember(workspace: Workspace, database: Database, logged: Logged) -> None:
    """Have the next look begin behind what the logs tell of."""
    if not logged.is_safe:
        sync_file_system(workspace.project)
    with database.transaction():
        if _position(database, logged.project) < logged.seq:  # somebody may have come further
            database.note(_name(database, logged.project), logged.seq)


def end_entry(
    database: Database,
    job: Job,
    state: JobState,
    words: str,
    *,
    at: float,
    text: str = "",
    attempt: int | None = None,
) -> LogEntry:
    """Return the entry about the end of a job; `words` say how, or why.

    `attempt` is the number of the job's last one, which is looked up where it is not known.
    """
    if attempt is None and (last := jobs.last_attempt(database, job.id)) is not None:
        attempt = last.number
    return LogEntry(
        timestamp=format_time(at),
        agent="sow",
        action=f"Job {job.id} {state.value}: {words}" if words else f"Job {job.id} {state.value}",
        result=RESULTS[state],
        text=text,
        role=job.agent,
        job=job.id,
        attempt=attempt,
        event=JOB,
        id=_entry_id(database, job),
    )


def _ends_after(database: Database, project: ProjectId) -> list[Row]:
    """Return the next ends of jobs that are not on record as told, oldest first."""
    with database.reading():
        return database.rows(
            f"select * from change where seq > ? and project = ? and {ENDS} order by seq limit ?",  # noqa: S608
            (_position(database, project), project, AT_ONCE),
        )


def _position(database: Database, project: ProjectId) -> int:
    return int(database.noted(_name(database, project)) or 0)


def _is_of_another_host(database: Database, job_id: int) -> bool:
    # Few queues are shared.
    from sow.jobs.hosts import is_queued_elsewhere

    return is_queued_elsewhere(database, JobId(job_id))


def _log_end(workspace: Workspace, database: Database, end: Change) -> bool:
    """Write one entry, unless it is there; tell whether a loss of power could take nothing of it.

    Raises what a passing fault of the machine is.
    """
    try:
        job = jobs.get_job(database, JobId(end.job or 0))
        state, reason = JobState(end.kind), end.data.reason or ""
        return _write(workspace, database, job, state, reason, at=end.at)
    except StateError as error:
        if passing_fault(error) is not None:
            raise
        return True


def _write(
    workspace: Workspace,
    database: Database,
    job: Job,
    state: JobState,
    reason: str,
    *,
    at: float,
    durable: bool = True,
    attempt: int | None = None,
    folder: Path | None = None,
) -> bool:
    """Write the entry about the end of a job, unless it is there; tell whether it was synced."""
    if folder is None:
        folder = find_task(workspace, job.task_id).folder if job.task_id else workspace.project
    words = _words(job, state, reason)
    entry = end_entry(database, job, state, words, at=at, attempt=attempt)
    # Whoever wrote one that is there may not have synced it.
    return write_missing_entry(folder, entry, durable=durable) and durable


def _words(job: Job, state: JobState, reason: str) -> str:
    if state is JobState.DONE:
        how = job.outcome_status.value if job.outcome_status else kind_of(job).well_ended
        return f"{job.verb.value} {job.agent}, {how}" if job.agent else f"{job.verb.value}, {how}"
    first = reason.strip().splitlines()[0] if reason.strip() else ""
    return first if first != state.value else ""


def _entry_id(database: Database, job: Job) -> str:
    name = f"{job.project_id} {file_id(database)} {job.id}"
    return str(sha256(name.encode()).hexdigest()[:12])


def _name(database: Database, project: ProjectId) -> str:
    """Return the name of the row; each host of a shared queue has logs, and a row, of its own."""
    return f"{LOGGED} {project} {database.host_id}" if database.is_shared else f"{LOGGED} {project}"
