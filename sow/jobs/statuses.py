"""The tasks' part of the record of changes: every status, once, in the order in which it stood.

A task's state is a file, and cannot change together with a row. So whoever
writes one notes it (`state.status_notes`), and the next reader puts the notes
on record and compares the files with what was recorded last: that finds what
was edited by hand, and what a command that was killed did not note.

The order of a look keeps each status from being recorded twice or out of turn:
the files first, then the notes, then the files' versions once more. A version
that was read is newer than every note that is not there yet, save its own; and
that one, when it comes, says nothing new.

In a queue that several hosts share, a project's home alone does so (`hosts.is_home`).
"""

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from sow.errors import StateError
from sow.ids import PhaseName, ProjectId, TaskId
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.plain_record import PlainRecord
from sow.schema.job import Job
from sow.schema.status_note import StatusNote
from sow.schema.task import Task
from sow.state.kept.store import project_id_at
from sow.state.places import TaskPlace, all_places
from sow.state.status_notes import begin_anew, read_notes, size_of_notes, version_of
from sow.state.tasks import read_task_at

READ_UP_TO = "status notes read up to"
"""The row of `control` that says where the notes go on."""
ENOUGH_BYTES = 1 << 16
"""When so many bytes of notes were read, the file is begun anew."""
LONGEST_BACKLOG_BYTES = 4 << 20
"""Of more notes only the last so many bytes are read, some ten thousand statuses: they are read in
the commit that ends a job, and anybody may write a file of any size there. What is passed over
harms nothing: the files are compared too."""
LARGEST = 2**63 - 1


class Standing(PlainRecord):
    """How a task stands in one version of its file. `at`: when, in seconds since the epoch."""

    project: ProjectId
    task: TaskId
    status: str
    iteration: int
    file: str
    at: float


def catch_up(workspace: Workspace, database: Database, *, now: float) -> None:
    """Put on record whatever status was written or edited since the last look.

    Nothing is written where nothing has changed. Raises QueueError.
    """
    project = ProjectId(project_id_at(workspace.root))
    if database.is_shared and not _is_home(database, project):
        return
    seen = _changed_files(workspace, database, project, now)
    if not seen and not has_notes(workspace, database):
        return
    with database.transaction():
        take_notes(workspace, database, now=now)
        if project_id_at(workspace.root) != project:
            return  # another branch was checked out meanwhile
        for place, standing in seen:
            if _version(place) == standing.file:
                _record(database, standing)


def _changed_files(
    workspace: Workspace, database: Database, project: ProjectId, now: float
) -> list[tuple[TaskPlace, Standing]]:
    """Return the tasks whose file is not the version that was recorded last, as they stand now.

    A task that cannot be read now is left to a later look.
    """
    sql = "select task, file from last_status where project = ?"
    known = {row["task"]: row["file"] for row in database.rows(sql, (project,))}
    found: list[tuple[TaskPlace, Standing]] = []
    with suppress(StateError):  # no project, or one that is just being checked out
        for place in all_places(workspace):
            version = _version(place)
            if not version or known.get(place.task_id) == version:
                continue
            with suppress(StateError, OSError):
                task = read_task_at(place)
                changed_at = os.stat(place.state).st_mtime  # noqa: PTH116
                at = min(max(changed_at, 0.0), now)
                found.append((place, _standing(project, task.id, task, version, at)))
    return found


def _version(place: TaskPlace) -> str:
    """Return the version of a task's file; empty where there is none."""
    try:
        return version_of(place.state)
    except OSError:
        return ""


def _standing(
    project: ProjectId, task_id: str, seen: Task | StatusNote, version: str, at: float
) -> Standing:
    iteration = min(seen.iteration, LARGEST)
    return Standing(project, TaskId(task_id), seen.status.value, iteration, version, at)


def has_notes(workspace: Workspace, database: Database) -> bool:
    """Whether notes were written that are not on record yet, or should be begun anew."""
    if database.is_shared and not _is_home(database, ProjectId(project_id_at(workspace.root))):
        return False
    position, size = _position(database), size_of_notes(workspace)
    return size != position or position >= ENOUGH_BYTES


def take_notes(workspace: Workspace, database: Database, *, now: float) -> None:
    """Put the statuses that were noted on record, each once. Raises QueueError."""
    if database.is_shared and not has_notes(workspace, database):
        return
    with database.transaction():
        before, size = _position(database), size_of_notes(workspace)
        position = before if before <= size else 0  # the file of notes was begun anew since
        position = max(position, size - LONGEST_BACKLOG_BYTES)
        while size > position:
            notes, after = read_notes(workspace, position)
            for note in notes:
                at = min(max(note.at, 0.0), now)
                _record(database, _standing(note.project, note.task, note, note.file, at))
            if after == position:
                break
            position = after
        if before == position >= ENOUGH_BYTES and begin_anew(workspace, position):
            position = 0
        if position != before:
            name = READ_UP_TO
            if database.is_shared:
                name = _own_position(database)
            database.note(name, position)


def _position(database: Database) -> int:
    name = _own_position(database) if database.is_shared else READ_UP_TO
    return int(database.noted(name) or 0)


def _own_position(database: Database) -> str:
    """Return the name of that row in a shared queue: each host has notes of its own."""
    return f"{READ_UP_TO} {database.host_id}"


def _is_home(database: Database, project_id: ProjectId) -> bool:
    # Few queues are shared.
    from sow.jobs.hosts import is_home

    return is_home(database, project_id)


def _is_of_another_host(database: Database, job: Job) -> bool:
    # Few queues are shared.
    from sow.jobs.hosts import is_queued_elsewhere

    return is_queued_elsewhere(database, job.id)


def see(workspace: Workspace, database: Database, job: Job, task: Task, *, now: float) -> None:
    """Put on record how a job's task stands; the caller holds the task's lock."""
    if workspace.host is not None:
        return  # the checkout in which it is at home tells of it
    if database.is_shared and _is_of_another_host(database, job):
        return
    with database.transaction():
        take_notes(workspace, database, now=now)
        state = workspace.task(PhaseName(task.phase), TaskId(task.id)) / "state.yaml"
        with suppress(OSError):
            version = version_of(state)
            _record(database, _standing(job.project_id, task.id, task, version, now))


def foretell(database: Database, job: Job, task: Task, file: Path, *, now: float) -> None:
    """Put on record how a job's task is about to stand, whose state is `file` under its own name.

    The caller holds the task's lock, and puts it there next. If it dies before, a look at the file
    finds how the task stands instead.
    """
    if database.is_shared and _is_of_another_host(database, job):
        return
    with suppress(OSError):
        _record(database, _standing(job.project_id, task.id, task, version_of(file), now))


def _record(database: Database, seen: Standing) -> None:
    """Remember a version; where its status is news, tell it. In the caller's transaction."""
    key = (seen.project, seen.task)
    last = database.row(
        "select status, iteration, file from last_status where project = ? and task = ?", key
    )
    if last is not None and tuple(last) == (seen.status, seen.iteration, seen.file):
        return
    database.run(
        "insert into last_status (project, task, status, iteration, file) values (?, ?, ?, ?, ?)"
        " on conflict (project, task) do update set status = excluded.status,"
        " iteration = excluded.iteration, file = excluded.file",
        (*key, seen.status, seen.iteration, seen.file),
    )
    if last is not None and (last["status"], last["iteration"]) == (seen.status, seen.iteration):
        return
    data = {
        "before": last["status"] if last is not None else None,
        "status": seen.status,
        "iteration": seen.iteration,
    }
    database.run(
        """
        insert into change (at, project, task, job, kind, data) values (:at, :project, :task,
            (select max(id) from job where project_id = :project and task_id = :task
                and created_at <= :at and coalesce(ended_at, :at) >= :at),
            'status', :data)
        """,
        {**vars(seen), "data": msgspec.json.encode(data).decode()},
    )
