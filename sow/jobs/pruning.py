"""Pruning: the records and the output of ended jobs, by age and by size.

Owns which jobs may go. Those of a task that is neither completed nor abandoned
stay whatever their age, and so do outcomes that a caller is owed. A project
that is not checked out cannot be asked about its tasks: its jobs go by age,
counted from the last time that the project was used. The record of changes
goes by age alone.
"""

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sow.errors import StateError
from sow.ids import JobId, ProjectId, TaskId
from sow.jobs import changes, doorbell, history
from sow.jobs.database import Database
from sow.jobs.history import Ended
from sow.paths import Workspace
from sow.state.projects import read_project
from sow.state.state_errors import NoProject, UnknownTask
from sow.state.tasks import read_task
from sow.state.transitions import TERMINAL


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
    """Logs of workers that are gone, and output that no record belongs to."""
    size: int
    """In bytes."""
    changes: int = 0
    """Lines of the record of changes."""


def find_prunable(
    workspace: Workspace, database: Database, limits: Limits, *, now: float
) -> Pruned:
    """Return what goes beyond the limits. Reads only."""
    candidates = history.ended_jobs(database)
    sizes = {job.id: size_of(workspace.job(job.id)) for job in candidates}
    free = list(_free(workspace, candidates))
    aged = {job.id for job in free if _age(workspace, job, now) >= limits.seconds}
    by_size = _beyond_size(free, aged, sizes, limits.size)
    going = tuple(job.id for job in candidates if job.id in aged | by_size)
    strays = tuple(_strays(workspace, database, oldest=now - limits.seconds))
    size = sum(sizes[job_id] for job_id in going) + sum(map(size_of, strays))
    old = changes.count_before(database, now - limits.seconds)
    return Pruned(going, strays, size, old)


def prune(workspace: Workspace, database: Database, limits: Limits, *, now: float) -> Pruned:
    """Remove what goes beyond the limits, the records first, and return what went."""
    found = find_prunable(workspace, database, limits, now=now)
    history.forget(database, found.jobs)
    changes.forget_before(database, now - limits.seconds)
    for job_id in found.jobs:
        shutil.rmtree(workspace.job(job_id), ignore_errors=True)
    for path in found.logs:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return found


def size_of(path: Path) -> int:
    """Return the size of a file, or of all files below a folder, in bytes; 0 if it is gone."""
    try:
        if not path.is_dir():
            return path.stat().st_size
        with os.scandir(path) as entries:
            return sum(size_of(Path(entry.path)) for entry in entries)
    except OSError:
        return 0


def _free(workspace: Workspace, candidates: Iterable[Ended]) -> Iterable[Ended]:
    """Return the jobs that nobody has a use for any more, but for their story."""
    here = _project_id(workspace)
    over: dict[TaskId, bool] = {}
    for job in candidates:
        if job.project_id != here:
            yield job
        elif not job.is_awaited:
            if job.task_id not in over:
                over[job.task_id] = _is_over(workspace, job.task_id)
            if over[job.task_id]:
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
    elsewhere = job.project_id != _project_id(workspace)
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
    """Return what belongs to no record and was last changed before `oldest`."""
    known = {str(row["id"]) for row in database.rows("select id from job")}
    folders = [path for path in workspace.jobs.glob("*") if path.name not in known]
    for path in (*folders, *workspace.workers.glob("*.log")):
        locks = path.glob("*/alive.lock") if path.is_dir() else [path.with_suffix(".lock")]
        if _changed_at(path) <= oldest and not any(doorbell.is_held(lock) for lock in locks):
            yield path


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
