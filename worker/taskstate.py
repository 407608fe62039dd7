"""What an attempt's end does to its task: the changes of its state, and its log.

Owns how session, status and log follow from what was seen. Every change is
made under the task's lock and only while the lease is ours.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import UNSET

from sow.clock import format_time
from sow.errors import StateError
from sow.executors.base import Observation, Verdict
from sow.files import locked_folder
from sow.ids import TaskId
from sow.jobs import leases
from sow.schema.job import Cause, Job, Lease
from sow.schema.task import SessionFacts, Task, TaskStatus
from sow.state import statefiles, transitions
from sow.state.log import LogEntry, append_entry
from sow.state.tasks import change_task, find_task, read_task
from worker.context import WorkerContext
from worker.judge import UNREPORTED
from worker.running import Running

NEVER_BEGAN = frozenset(
    {
        Cause.SESSION_IN_USE,
        Cause.SESSION_UNKNOWN,
        Cause.MISSING_BINARY,
        Cause.BAD_FLAGS,
        Cause.WORKER_DIED,
        Cause.WORKER_STOPPED,
    }
)
"""Endings that do not show that the CLI began the session."""

Change = Callable[[Task], Mapping[str, Any]]
"""Given the task as it stands, returns the fields to change."""


def has_reported(context: WorkerContext, job: Job) -> bool:
    """Whether the agent has set a status; False where the state cannot be read now."""
    try:
        return read_task(context.workspace, TaskId(job.task_id)).status not in UNREPORTED
    except StateError:
        return False


def has_begun(seen: Observation) -> bool:
    """Whether the output shows that the CLI keeps the session: its first event alone does not.

    Nor does a result that names no session: that of a resume which the CLI refused.
    """
    named = seen.result is not None and seen.result.session_id is not None
    return bool(seen.tool_uses or seen.last_text or named)


def change_under_lease(context: WorkerContext, job: Job, lease: Lease, change: Change) -> Task:
    """Change the task's state while the lease is ours."""

    def guarded(task: Task) -> Mapping[str, Any]:
        current = leases.lease_of(context.database, job.id)
        if current is None or current.token != lease.token:
            raise leases.Fenced(job.id)
        return change(task)

    return change_task(context.workspace, TaskId(job.task_id), guarded, now=context.now())


def both(first: Change, second: Change) -> Change:
    """Return the change that makes both; where they touch the same field, the second wins."""
    return lambda task: {**first(task), **second(task)}


def marks_session(running: Running, verdict: Verdict) -> Change:
    """Return the change that says what the attempt has shown of its session."""

    def change(task: Task) -> Mapping[str, Any]:
        if running.output.seen.session_id is not None:
            return session_seen(task, running)
        if running.attempt.session_id is None or verdict.cause in NEVER_BEGAN:
            return {}
        reads_events = has_begun(running.output.seen) or verdict.cause is Cause.REPORTED
        return _session(task, running, running.attempt.session_id, started=reads_events)

    return change


def session_seen(task: Task, running: Running) -> Mapping[str, Any]:
    """Return the fields that put the session on record which the output has told of."""
    seen = running.output.seen
    assert seen.session_id is not None  # noqa: S101 - asked for only then
    return _session(task, running, seen.session_id, started=has_begun(seen))


def _session(task: Task, running: Running, session_id: str, *, started: bool) -> Mapping[str, Any]:
    """Return the fields that put a session on record; what has started stays started."""
    if task.status in transitions.TERMINAL:
        return {}
    same = task.session_id == session_id
    dialect = task.session.dialect if task.session is not UNSET else UNSET
    facts = SessionFacts(
        executor=running.job.executor.name,
        cwd=running.job.cwd,
        started=started or (same and task.session_started),
        dialect=dialect,
    )
    return {"session_id": session_id, "session": facts}


def clears_session(task: Task) -> Mapping[str, Any]:
    """Return what ends the session of a task that its own agent has ended."""
    return transitions.clear_session(task) if task.status in transitions.TERMINAL else {}


def fails(task: Task, now: float) -> Mapping[str, Any]:
    """Return what makes a task failed whose agent left it in progress."""
    if task.status not in UNREPORTED:
        return {}
    return {**taken_again(task, now), "status": TaskStatus.FAILED}


def interrupts(task: Task, now: float) -> Mapping[str, Any]:
    """Return what makes a task paused whose agent was ended in progress."""
    if task.status not in UNREPORTED:
        return {}
    return {**taken_again(task, now), "status": TaskStatus.PAUSED}


def taken_again(task: Task, now: float) -> Mapping[str, Any]:
    """Return what marks a task as taken that went back to `pending` while its job lived."""
    if task.status is not TaskStatus.PENDING:
        return {}
    return transitions.enter(task, TaskStatus.IN_PROGRESS, now=now)


def log_failure(context: WorkerContext, job: Job, reason: str) -> None:
    """Write into the task's log why sow gave the job up."""
    place = find_task(context.workspace, TaskId(job.task_id))
    entry = LogEntry(
        timestamp=format_time(context.now()),
        agent="sow",
        action=f"Job {job.id} failed: {first_line(reason)}",
        result="failure",
        text=reason if "\n" in reason else "",
    )
    append_entry(place.folder, entry)


def restore_state(context: WorkerContext, running: Running) -> None:
    """Keep what the agent made of state.yaml, and put the last valid version back."""
    state = find_task(context.workspace, TaskId(running.job.task_id)).state
    last = running.paths.last_valid_state
    with locked_folder(state.parent):
        if state.exists():
            state.replace(state.with_name(f"state.yaml.invalid-{running.attempt.id}"))
        statefiles.restore_state(state, last.read_bytes() if last.exists() else None)


def first_line(text: str) -> str:
    """Return the first line of a text; empty for an empty one."""
    return text.strip().splitlines()[0] if text.strip() else ""
