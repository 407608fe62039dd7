"""Pruning: the records and the output of ended jobs, by age and by size.

Owns which jobs may go, and the SQL of their going. Those of a task that is neither
completed nor abandoned stay whatever their age, and so do outcomes that a caller is
owed. A project that is not checked out cannot be asked about its tasks: its jobs go by
age, counted from the last time that the project was used. The record of changes goes by
age alone.

In a queue that several hosts share its owner alone removes records. Any other host removes what
lies in its own folders. A job that was queued from another host counts as one of another project:
the state of its task is there, and so is whoever waits for it.
"""

import os
import shutil
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from sow.errors import StateError
from sow.ids import JobId, ProjectId, TaskId
from sow.jobs import batches, changes, doorbell, notifications, records
from sow.jobs.database import Database
from sow.jobs.run_names import bells, changed_at, job_numbers, worker_logs
from sow.jobs.store import HOST_MARK
from sow.paths import Workspace
from sow.schema.job import FINAL_STATES
from sow.state.projects import read_project
from sow.state.state_errors import NoProject, UnknownTask
from sow.state.tasks import read_task
from sow.state.transitions import TERMINAL

ENDED = records.among("state", sorted(FINAL_STATES))


class Ended(NamedTuple):
    """A job that has ended. Times are seconds since the epoch."""

    id: JobId
    project_id: ProjectId
    task_ids: tuple[TaskId, ...]
    """The tasks that it was about, its own first; its own is empty for the project as a whole."""
    ended_at: float
    project_used_at: float
    """When the newest job of its project was asked for."""
    is_awaited: bool
    """Whether its outcome is still owed to a caller."""
    is_elsewhere: bool = False
    """Whether it was queued from another host of a shared queue."""


@dataclass(frozen=True)
class Limits:
    """How much is kept."""

    seconds: float
    size: int
    """In bytes, of the output of all jobs."""


@dataclass(frozen=True)
class Pruned:
    """What went, or would go."""

    jobs: tuple[JobId, ...]
    logs: tuple[Path, ...]
    """Logs of workers that are gone, bells of callers, and output that no record belongs to."""
    size: int
    """In bytes."""
    changes: int = 0
    """Lines of the record of changes."""


def find_prunable(
    workspace: Workspace, database: Database, limits: Limits, *, now: float
) -> Pruned:
    """Return what goes beyond the limits. Reads only."""
    candidates = ended_jobs(database)
    sizes = {job.id: size_of(workspace.job(job.id)) for job in candidates}
    free = list(_free(workspace, candidates))
    aged = {job.id for job in free if _age(workspace, job, now) >= limits.seconds}
    by_size = _beyond_size(free, aged, sizes, limits.size)
    going = tuple(job.id for job in candidates if job.id in aged | by_size)
    strays = tuple(_strays(workspace, database, oldest=now - limits.seconds))
    size = sum(sizes[job_id] for job_id in going) + sum(map(size_of, strays))
    old = changes.count_before(database, now - limits.seconds, now=now)
    return Pruned(going, strays, size, old)


def prune(workspace: Workspace, database: Database, limits: Limits, *, now: float) -> Pruned:
    """Remove what goes beyond the limits, the records first, and return what went."""
    found = find_prunable(workspace, database, limits, now=now)
    if not database.is_shared or _may_forget(database):
        forget(database, found.jobs)
        changes.forget_before(database, now - limits.seconds, now=now)
        notifications.forget_before(database, now - limits.seconds)
        batches.forget_before(database, now - limits.seconds)
    else:
        here = tuple(job_id for job_id in found.jobs if workspace.job(job_id).exists())
        found = replace(found, jobs=here, changes=0)
    for job_id in found.jobs:
        _remove(workspace.job(job_id))
    for path in found.logs:
        _remove(path)
    return found


def _may_forget(database: Database) -> bool:
    """Whether our role may remove records of a shared queue."""
    return bool(database.value("select has_table_privilege('job', 'delete')"))


def ended_jobs(database: Database) -> list[Ended]:
    """Return every job that is over, the one that ended first first; none that owes its task."""
    rows = database.rows(
        f"""
        select id, project_id, task_id, ended_at,
            (select max(created_at) from job as newest where newest.project_id = job.project_id)
                as project_used_at,
            (select group_concat(occupied.task_id, ' ') from occupied
                where occupied.job_id = job.id) as others,
            exists (select 1 from waiter where waiter.job_id = job.id
                and substr(id, 1, 1) not in ('d', 'p'))
                as is_awaited
        from job
        where {ENDED} and ended_at is not null and not owes_task
        order by ended_at, id
        """  # noqa: S608 - words of ours
    )
    elsewhere = _queued_elsewhere(database) if database.is_shared else frozenset()
    return [
        Ended(
            JobId(row["id"]),
            ProjectId(row["project_id"]),
            (TaskId(row["task_id"]), *map(TaskId, (row["others"] or "").split())),
            row["ended_at"],
            row["project_used_at"],
            bool(row["is_awaited"]),
            row["id"] in elsewhere,
        )
        for row in rows
    ]


def _queued_elsewhere(database: Database) -> frozenset[JobId]:
    rows = database.rows("select id, host_id from job")
    return frozenset(
        JobId(row["id"]) for row in rows if database.is_elsewhere(f"{HOST_MARK}{row['host_id']}")
    )


def forget(database: Database, job_ids: Sequence[JobId]) -> None:
    """Remove jobs, their attempts and who waited for them. They must have ended."""
    ids = [(job_id,) for job_id in job_ids]
    with database.transaction():
        for table, column in (("waiter", "job_id"), ("attempt", "job_id"), ("job", "id")):
            for key in ids:
                database.run(f"delete from {table} where {column} = ?", key)  # noqa: S608


def _remove(path: Path) -> None:
    """Remove a file or a whole folder; what cannot be removed now is found again the next time.

    A link is not followed. Folders can lie in each other deeper than Python can follow.
    """
    with suppress(OSError, RecursionError):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def size_of(path: Path) -> int:
    """Return the size of a file, or of all files below a folder, in bytes; 0 if it is gone.

    Agents may lay anything there: no link is followed, and no depth is too much.
    """
    size, left = 0, [str(path)]
    while left:
        name = left.pop()
        with suppress(OSError):
            facts = os.lstat(name)
            if not stat.S_ISDIR(facts.st_mode):
                size += facts.st_size
                continue
            left += [f"{name}/{entry}" for entry in os.listdir(name)]  # noqa: PTH208
    return size


def _free(workspace: Workspace, candidates: Iterable[Ended]) -> Iterable[Ended]:
    """Return the jobs that nobody has a use for any more, but for their story."""
    here = _project_id(workspace)
    over: dict[TaskId, bool] = {}
    for job in candidates:
        if job.project_id != here or job.is_elsewhere:
            yield job
        elif not job.is_awaited:
            for task_id in job.task_ids:
                if task_id not in over:
                    over[task_id] = _is_over(workspace, task_id)
            if all(over[task_id] for task_id in job.task_ids):
                yield job


def _project_id(workspace: Workspace) -> ProjectId | None:
    try:
        return ProjectId(read_project(workspace).id)
    except NoProject:
        return None


def _is_over(workspace: Workspace, task_id: TaskId) -> bool:
    """Whether a task is completed, abandoned or gone; one that cannot be read is not."""
    try:
        return read_task(workspace, task_id).status in TERMINAL
    except UnknownTask:
        return True
    except StateError:
        return False


def _age(workspace: Workspace, job: Ended, now: float) -> float:
    elsewhere = job.is_elsewhere or job.project_id != _project_id(workspace)
    return now - (job.project_used_at if elsewhere else job.ended_at)


def _beyond_size(
    free: Iterable[Ended], aged: set[JobId], sizes: Mapping[JobId, int], most: int
) -> set[JobId]:
    """Return the oldest jobs without which the rest is no larger than `most` bytes."""
    left = sum(size for job_id, size in sizes.items() if job_id not in aged)
    going: set[JobId] = set()
    for job in free:
        if left <= most:
            break
        if job.id not in aged:
            going.add(job.id)
            left -= sizes[job.id]
    return going


def _strays(workspace: Workspace, database: Database, *, oldest: float) -> Iterable[Path]:
    """Return what belongs to no record and was last changed before `oldest`.

    Nothing lies in our folder of jobs that is not ours; another one, to which
    a link leads, may be full of folders whose names are numbers.
    """
    known = {int(row["id"]) for row in database.rows("select id from job")}
    jobs = workspace.jobs
    numbers = [] if jobs.is_symlink() else sorted(set(job_numbers(jobs)) - known)
    folders = [jobs / str(number) for number in numbers]
    for path in (*folders, *sorted(worker_logs(workspace.workers))):
        locks = path.glob("*/alive.lock") if path.is_dir() else [path.with_suffix(".lock")]
        if changed_at(path) <= oldest and not any(doorbell.is_held(lock) for lock in locks):
            yield path
    for bell in sorted(bells(workspace.waiters)):  # a killed call leaves its own
        if changed_at(bell) <= oldest and not doorbell.is_held(bell):
            yield bell
