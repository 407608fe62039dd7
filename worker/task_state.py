"""What an attempt's end does to its task: the changes of its state, and its log.

Owns how session, status and log follow from what was seen. Every change is
made under the task's lock and only while the lease is ours.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from msgspec import UNSET, UnsetType

from sow.errors import StateError
from sow.executors.base import Verdict
from sow.executors.session import type_on_record
from sow.faults import passing_fault
from sow.files import NotAFile, NotWritten, locked_folder, move, read_regular
from sow.ids import TaskId
from sow.jobs import jobs, leases, statuses
from sow.jobs.end_entries import end_entry
from sow.jobs.jobs import author_of_job
from sow.schema.cause_table import NEVER_BEGAN
from sow.schema.causes import Cause
from sow.schema.job import Job, JobState, Lease
from sow.schema.task import SessionFacts, Task, TaskStatus
from sow.state import statefiles, transitions
from sow.state.kept.store import Kept
from sow.state.statefiles import STATE_LIMIT
from sow.state.task_log import append_entry
from sow.state.tasks import change_task, find_task, read_task
from worker.context import WorkerContext, tell
from worker.running import Running

Change = Callable[[Task], Mapping[str, Any]]
"""Given the task as it stands, returns the fields to change."""


def change_under_lease(
    context: WorkerContext,
    job: Job,
    lease: Lease,
    change: Change,
    record: Callable[[Task], None] = lambda _: None,
    after: Callable[[Task], None] = lambda _: None,
    *,
    attempt: int | None = None,
    kept: Kept | None = None,
) -> Task:
    """Change the task's state while the lease is ours; `record` writes what that means of the job.

    One critical section: the task's lock is held and a transaction is open
    from before `change` looks until what `record` wrote is committed. Nobody
    sets a status, asks for the job's end or takes the lease over in between.
    The state is on disk first; a death before the commit leaves the job as it
    was. In the same commit the task's status goes on record. Whoever needs
    both takes the lock before the transaction, never after. `after` is called once all that is
    committed, the lock still held. `attempt` is the number of the job's
    last one, where that is known, `kept` where the copies lie, if that was just looked up.
    """
    with ExitStack() as transaction:

        def guarded(task: Task) -> Mapping[str, Any]:
            transaction.enter_context(leases.under(context.database, lease))
            return change(task)

        def then(task: Task) -> None:
            statuses.see(context.workspace, context.database, job, task, now=context.now())
            record(task)
            transaction.close()
            after(task)

        return change_task(
            context.workspace,
            TaskId(job.task_id),
            guarded,
            now=context.now(),
            then=then,
            by=author_of_job(job, attempt=attempt or _attempt_of(context, job)),
            kept=kept,
        )


def _attempt_of(context: WorkerContext, job: Job) -> int | None:
    last = jobs.last_attempt(context.database, job.id)
    return last.number if last is not None else None


def mark_again(
    context: WorkerContext,
    job: Job,
    lease: Lease,
    session_id: str | None,
    *,
    started: bool,
    has_begun: bool = True,
) -> Task:
    """Mark a task that was put back to `pending` as the job had marked it: session and all.

    What is to be written next does not follow `pending`, an agent's own report
    would be refused, and the next attempt would have no session to go on in.
    A task with any other status stays as it is. Where no attempt `has_begun`, the job's call may
    not have come to mark it, which it does under the task's lock.
    """

    def change(task: Task) -> Mapping[str, Any]:
        if task.status is not TaskStatus.PENDING:
            return {}
        if has_begun:
            tell(job, "its task had been put back to pending; it is in_progress again")
        session = session_fields_of(task, job, session_id, started=started) if session_id else {}
        return {**transitions.enter(task, TaskStatus.IN_PROGRESS, now=context.now()), **session}

    return change_under_lease(context, job, lease, change)


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
        reads_events = running.output.seen.has_begun or verdict.cause is Cause.REPORTED
        return session_fields_of(
            task, running.job, running.attempt.session_id, started=reads_events
        )

    return change


def session_seen(task: Task, running: Running) -> Mapping[str, Any]:
    """Return the fields that put the session on record which the output has told of."""
    seen = running.output.seen
    assert seen.session_id is not None  # noqa: S101 - asked for only then
    return session_fields_of(task, running.job, seen.session_id, started=seen.has_begun)


def session_fields_of(
    task: Task,
    job: Job,
    session_id: str,
    *,
    started: bool,
    dialect: str | UnsetType | None = None,
    kind: str | UnsetType | None = None,
) -> Mapping[str, Any]:
    """Return the fields that put a session on record; what has started stays started.

    Without a `dialect` of its own it has that of the session before, without a `kind` the type of
    the job's executor.
    """
    if task.status in transitions.TERMINAL:
        return {}
    same = task.session_id == session_id
    if dialect is None:
        dialect = task.session.dialect if task.session is not UNSET else UNSET
    facts = SessionFacts(
        executor=job.executor_name,
        type=type_on_record(job.agents_executor) if kind is None else kind,
        cwd=job.cwd,
        started=started or (same and task.session_started),
        dialect=dialect,
    )
    return {"session_id": session_id, "session": facts}


def clears_session(task: Task) -> Mapping[str, Any]:
    """Return what ends the session of a task that its own agent has ended."""
    return transitions.clear_session(task) if task.status in transitions.TERMINAL else {}


def leaves(task: Task, status: TaskStatus, now: float) -> Mapping[str, Any]:
    """Return what gives a task a status whose agent left it in progress: `failed` or `paused`."""
    if task.status is not TaskStatus.IN_PROGRESS:
        return {}
    return transitions.enter(task, status, now=now)


def log_failure(context: WorkerContext, job: Job, reason: str) -> None:
    """Write into the task's log why sow gave the job up."""
    place = find_task(context.workspace, TaskId(job.task_id))
    entry = end_entry(
        context.database,
        job,
        JobState.FAILED,
        first_line(reason),
        at=context.now(),
        text=reason if "\n" in reason else "",
    )
    try:
        append_entry(place.folder, entry)
    except StateError as error:  # a log that takes no entry must not keep the job alive
        if passing_fault(error) is not None:
            raise
        tell(job, f"its log was not written: {error.message}")


def restore_state(context: WorkerContext, running: Running) -> None:
    """Keep what the agent made of state.yaml, and put the last valid version back.

    A state that can be read stays: it was put back before the job's end could be
    written, and what the agent made of it must not be written over by it. Raises NotWritten where
    it cannot be moved aside.
    """
    state = find_task(context.workspace, TaskId(running.job.task_id)).state
    with locked_folder(state.parent):
        if _can_be_read(context, running.job):
            return
        _move_aside(state, state.with_name(f"state.yaml.invalid-{running.attempt.id}"))
        last: bytes | None = None
        with suppress(FileNotFoundError, NotAFile):
            last = read_regular(running.paths.last_valid_state, STATE_LIMIT)
        statefiles.restore_state(state, last)


def _move_aside(state: Path, aside: Path) -> None:
    """Move aside what lies in the place of a task's state, if anything does. Raises NotWritten."""
    try:
        with suppress(FileNotFoundError):
            move(state, aside)
    except OSError as error:
        raise NotWritten(aside, error) from error


def _can_be_read(context: WorkerContext, job: Job) -> bool:
    """Whether a task's state is valid now. Raises what says nothing of it, a full table, say."""
    try:
        read_task(context.workspace, TaskId(job.task_id))
    except StateError as error:
        if passing_fault(error) is not None:
            raise
        return False
    return True


def first_line(text: str) -> str:
    """Return the first line of a text; empty for an empty one."""
    return text.strip().splitlines()[0] if text.strip() else ""
