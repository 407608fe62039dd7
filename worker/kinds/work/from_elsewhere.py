"""An agent that goes on with what was begun on another host, where its session lies.

Owns when that is so, and what follows: a new session, which begins with a hand-over. It is told in
the task's log and by a warning of the job. The claim sees to it that this happens only where that
host was not heard for as long as a lease, or somebody wants it so (`sow.jobs.leases`). Asked in a
queue that is shared alone.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from sow.attempts.session_command import create_session
from sow.clock import format_time
from sow.executors.base import Executor
from sow.ids import TaskId
from sow.jobs import jobs
from sow.jobs.hosts import name_of
from sow.prompts.compose import HandOver
from sow.schema.job import Attempt, Job, Lease, Verb
from sow.schema.task import Task
from sow.state import transitions
from sow.state.log_writing import LogEntry
from sow.state.task_log import append_entry
from sow.state.tasks import find_task
from worker.context import WorkerContext, tell
from worker.kinds.work.handing_over import work_so_far
from worker.task_state import change_under_lease, session_fields_of

ANEW = "; the task went on in a new session"
"""How the warning of such a job ends."""
Takes = tuple[Task, Job, Callable[[], HandOver] | None]
"""The task, the job as the attempt is planned, and what says what the session takes over."""


def taken_over(
    context: WorkerContext,
    job: Job,
    lease: Lease,
    executor: Executor,
    task: Task,
    history: Sequence[Attempt],
) -> Takes:
    """Return with what an attempt begins, if its work was begun on another host.

    `history` are all attempts of the job. Raises ExecutorError where its CLI makes no session.
    """
    database = context.database
    tried = jobs.attempts_on(database, task.session_id) if task.session_id is not UNSET else []
    if tried and task.session_started and database.is_elsewhere(tried[-1].worker_id):
        task = _begin_anew(context, job, lease, executor, task, tried[-1])
    elif tried or not any(words.endswith(ANEW) for words in job.warnings):
        others = [each for each in history if database.is_elsewhere(each.worker_id)]
        before = f"it ran on {_name(context, others[-1])}" if others else ""
        return task, job, _handover(context, task, before) if others else None
    # Else an attempt that could not begin has made the session.
    before = "its session lies on another host"
    return task, replace(job, verb=Verb.SPAWN), _handover(context, task, before)


def _handover(context: WorkerContext, task: Task, before: str) -> Callable[[], HandOver]:
    return lambda: work_so_far(context, task, before)


def _name(context: WorkerContext, attempt: Attempt) -> str:
    """Return what people call the host of an attempt."""
    return name_of(context.database, attempt.worker_id) or "another host"


def _begin_anew(
    context: WorkerContext,
    job: Job,
    lease: Lease,
    executor: Executor,
    task: Task,
    last: Attempt,
) -> Task:
    """Put another session on record, and say which one was left where; return the task."""
    left, where = str(task.session_id), _name(context, last)
    session = create_session(executor, job, context.workspace.root, context.environ)
    entry = LogEntry(
        timestamp=format_time(context.now()),
        agent="sow",
        action=f"Continues in a new session; {left} lies on {where}",
        text="The new session begins with the log, the feedback and the change so far.",
    )
    append_entry(find_task(context.workspace, TaskId(job.task_id)).folder, entry)
    warning = f"session {left} lies on {where}{ANEW}"
    tell(job, warning)

    def change(task: Task) -> Mapping[str, Any]:
        known = (*jobs.get_job(context.database, job.id).warnings, warning)
        jobs.change_job(context.database, job.id, warnings=tuple(dict.fromkeys(known)))
        if session is None:
            return transitions.clear_session(task)
        dialect = UNSET if session.dialect is None else session.dialect
        return session_fields_of(task, job, session.id, started=False, dialect=dialect)

    return change_under_lease(context, job, lease, change)
