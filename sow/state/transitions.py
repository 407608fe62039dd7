"""Which status may follow which, and what changes with it.

Owns the one table, the times, the iteration and the end of a session. Pure:
every function returns the fields to change, `state.tasks` writes them.
"""

from collections.abc import Mapping
from datetime import UTC, datetime

from msgspec import UNSET, Struct, to_builtins

from sow.errors import StateError
from sow.schema.task import Task, TaskStatus
from sow.yamlfile import REMOVE

_S = TaskStatus
_REPORTED_ON = frozenset({_S.IN_PROGRESS, _S.COMPLETED, _S.ABANDONED, _S.FAILED})

ALLOWED: Mapping[TaskStatus, frozenset[TaskStatus]] = {
    _S.PENDING: frozenset({_S.IN_PROGRESS, _S.ABANDONED}),
    _S.IN_PROGRESS: frozenset({_S.PAUSED, _S.NEEDS_REVIEW, _S.FAILED, _S.COMPLETED, _S.ABANDONED}),
    _S.PAUSED: _REPORTED_ON,
    _S.NEEDS_REVIEW: _REPORTED_ON,
    _S.FAILED: _REPORTED_ON - {_S.FAILED},
    _S.COMPLETED: frozenset(),
    _S.ABANDONED: frozenset(),
}
"""What may follow each status. The terminal ones are left by `reopen` only."""

TERMINAL = frozenset({_S.COMPLETED, _S.ABANDONED})

NO_REPORTS = frozenset({_S.IN_PROGRESS, _S.PENDING})
"""Statuses that no agent leaves as its report. A task is `pending` while its agent runs only where
its state was put back to what it was before: by `git checkout`, say."""

REVIEWED = frozenset({_S.NEEDS_REVIEW, _S.FAILED})
"""A resume from one of these is a new iteration."""

FieldChanges = dict[str, object]
"""New values of a task's fields by name; REMOVE takes a field away."""


def moment(now: float) -> datetime:
    """Return `now`, in seconds since the epoch, as state files hold times: UTC, whole seconds."""
    return datetime.fromtimestamp(int(now), UTC)


def as_written(record: Struct) -> dict[str, object]:
    """Return what a state file says of a record: nothing of what is empty."""
    fields: dict[str, object] = to_builtins(record, builtin_types=(datetime,))
    return {name: value for name, value in fields.items() if value not in ("", [], {})}


def check(task: Task, status: TaskStatus) -> None:
    """Raise StateError unless `status` is the present one or may follow it."""
    allowed = ALLOWED[task.status]
    if status is not task.status and status not in allowed:
        words = [word.value for word in TaskStatus if word in allowed]
        way_on = (
            f"From {task.status} it can go to: {', '.join(words)}."
            if words
            else f"{task.status} is final; `sow task reopen {task.id}` makes the task pending"
            " again."
        )
        raise StateError(f"task {task.id} cannot go from {task.status} to {status}", hint=way_on)


def enter(
    task: Task, status: TaskStatus, *, now: float, keep_session: bool = False
) -> FieldChanges:
    """Return what changes when `task` takes `status`; nothing if it has it already.

    `completed` alone sets `completed_at`. A terminal status clears the session, which
    `keep_session` puts off: an agent still runs in it. Raises StateError.
    """
    check(task, status)
    if status is task.status:
        return {}
    changes: FieldChanges = {"status": status}
    if status is _S.IN_PROGRESS and task.started_at is UNSET:
        changes["started_at"] = moment(now)
    if status is _S.COMPLETED:
        changes["completed_at"] = moment(now)
    if status in TERMINAL and not keep_session:
        changes |= clear_session(task)
    return changes


OF_SESSION = ("session_id", "session")
"""The fields of a task that tell of its session."""


def clear_session(task: Task) -> FieldChanges:
    """Return what takes the task's session away; nothing if it has none."""
    return {name: REMOVE for name in OF_SESSION if getattr(task, name) is not UNSET}


def begin_resume(task: Task, now: float) -> FieldChanges:
    """Return what changes when a resume takes `task`: + 1 iteration after a review or failure.

    Raises StateError.
    """
    changes = enter(task, _S.IN_PROGRESS, now=now)
    if task.status in REVIEWED:
        changes["iteration"] = task.iteration + 1
    return changes


def undo(task: Task, prior: TaskStatus, *, resumed: bool = False) -> FieldChanges:
    """Return what takes `task` back to `prior`, for a job of sow's own that never ran.

    `resumed` says that the job was a resume, whose iteration then does not
    count. Nothing changes if the task has left in_progress meanwhile.
    """
    if task.status is not _S.IN_PROGRESS or prior is _S.IN_PROGRESS:
        return {}
    changes: FieldChanges = {"status": prior}
    if prior is _S.PENDING and task.started_at is not UNSET:
        changes["started_at"] = REMOVE
    if resumed and prior in REVIEWED:
        changes["iteration"] = max(1, task.iteration - 1)
    return changes


def take_back(task: Task) -> FieldChanges:
    """Return what takes an agent's report back: the task is in progress again, as if never told.

    Nothing if there is no report.
    """
    if task.status in NO_REPORTS:
        return {}
    ended = reopen(task) if task.status in TERMINAL else {}
    return {**ended, "status": _S.IN_PROGRESS}


def reopen(task: Task) -> FieldChanges:
    """Return what makes a completed or abandoned task pending again; nothing if it is pending.

    Raises StateError for a task that is neither.
    """
    if task.status is _S.PENDING:
        return {}
    if task.status not in TERMINAL:
        check(task, _S.PENDING)
    changes: FieldChanges = {"status": _S.PENDING, **clear_session(task)}
    if task.completed_at is not UNSET:
        changes["completed_at"] = REMOVE
    return changes
