"""Another session in the place of one that its CLI does not know.

Owns the one case in which a worker obtains a session, and that a task is marked as taken before
an attempt and after it. Which sessions may be replaced is `sow.attempts.sessions`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET

from sow.attempts.session_command import run_session_command
from sow.clock import format_time
from sow.executors.base import Executor, Session, SessionSource
from sow.ids import TaskId
from sow.schema.causes import SESSION_TAKEN, SESSION_UNKNOWN
from sow.schema.job import Attempt, Job, Lease
from sow.schema.task import Task, TaskStatus
from sow.state import transitions
from sow.state.log_writing import LogEntry
from sow.state.task_log import append_entry
from sow.state.tasks import find_task, read_task
from worker.context import WorkerContext, tell
from worker.task_state import change_under_lease, session_fields_of


def put_on_record(
    context: WorkerContext, job: Job, lease: Lease, session_id: str | None, *, started: bool
) -> Task:
    """Mark a task that was put back to `pending` as the job had marked it: session and all.

    What is to be written next does not follow `pending`, an agent's own report
    would be refused, and the next attempt would have no session to go on in.
    A task with any other status stays as it is.
    """

    def change(task: Task) -> Mapping[str, Any]:
        if task.status is not TaskStatus.PENDING:
            return {}
        session = session_fields_of(task, job, session_id, started=started) if session_id else {}
        return {**transitions.enter(task, TaskStatus.IN_PROGRESS, now=context.now()), **session}

    task = read_task(context.workspace, TaskId(job.task_id))
    if task.status is not TaskStatus.PENDING:
        return task
    tell(job, "its task had been put back to pending; it is in_progress again")
    return change_under_lease(context, job, lease, change)


def lacks_session(task: Task, executor: Executor, history: Sequence[Attempt]) -> bool:
    """Whether another session must take the place of the one on record: its CLI does not know it.

    A spawn by the same id would do for one that never began and whose id sow
    chooses, unless the CLI has called that id taken as well.
    """
    source = executor.session_source
    if task.session_id is UNSET:  # somebody put the state back to what it was before the job
        return source in (SessionSource.CHOSEN, SessionSource.CREATED)
    if source is SessionSource.NONE:
        return False
    refusals = [
        attempt.cause
        for attempt in history
        if attempt.session_id == task.session_id
        and attempt.cause in SESSION_TAKEN | SESSION_UNKNOWN
    ]
    if not refusals or not history or history[-1].cause not in SESSION_UNKNOWN:
        return False
    is_taken = any(cause in SESSION_TAKEN for cause in refusals)
    return source is SessionSource.CREATED or task.session_started or is_taken


def renew_session(context: WorkerContext, job: Job, lease: Lease, executor: Executor) -> Task:
    """Put another session on record, and in the task's log which one was lost; return the task.

    An executor that learns its sessions from their output is left without one.
    No lock is held while its CLI makes one. Raises ExecutorError where it makes none.
    """
    session = create_session(context, job, executor)
    task = read_task(context.workspace, TaskId(job.task_id))
    if task.session_id is not UNSET and task.session_started:
        _log_loss(context, job, task.session_id)
    made = f"session {session.id}" if session is not None else "the session that its run makes"
    tell(job, f"its CLI knows no session {task.session_id or 'of the task'}; goes on in {made}")

    def change(task: Task) -> Mapping[str, Any]:
        if session is None:
            return transitions.clear_session(task)
        dialect = UNSET if session.dialect is None else session.dialect
        return session_fields_of(task, job, session.id, started=False, dialect=dialect)

    return change_under_lease(context, job, lease, change)


def mark_started(
    context: WorkerContext, job: Job, lease: Lease, history: Sequence[Attempt]
) -> Task:
    """Return the task as it is before an attempt: marked, also where it was put back meanwhile."""
    session_id = history[-1].session_id if history else None
    started = any(earlier.tool_uses for earlier in history if earlier.session_id == session_id)
    return put_on_record(context, job, lease, session_id, started=started)


def create_session(context: WorkerContext, job: Job, executor: Executor) -> Session | None:
    """Return a new session; None where the executor learns it from its output.

    Raises ExecutorError where its CLI makes none.
    """
    if executor.session_source is SessionSource.LEARNED:
        return None
    root = context.workspace.root
    return executor.create_session(
        lambda argv: run_session_command(argv, job, root, context.environ)
    )


def _log_loss(context: WorkerContext, job: Job, session_id: str) -> None:
    """Name the lost session in the task's log first: a worker that dies now says it again."""
    entry = LogEntry(
        timestamp=format_time(context.now()),
        agent="sow",
        action=f"Goes on in a new session; {session_id} was lost before its CLI had kept it",
        result="",
        text="No turn of it had ended in good order. What it did is in the tree.",
    )
    append_entry(find_task(context.workspace, TaskId(job.task_id)).folder, entry)
