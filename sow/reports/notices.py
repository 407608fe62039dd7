"""What a person's command is told of an event: the facts that the records and the task have.

Owns the message. It is made of sow's own words and ids, so that it can be given
to programs that read more into a text than a text; what agents wrote stands in
keys of its own. Never raises for what cannot be read.
"""

import re
from contextlib import suppress

from sow.clock import format_time
from sow.errors import SowError
from sow.ids import ProjectId, TaskId
from sow.jobs.changes import Cursor
from sow.jobs.database import Database
from sow.jobs.jobs import get_job
from sow.paths import Workspace
from sow.schema.change import Change
from sow.schema.job import Job
from sow.schema.notification import MEANINGS, Notification, NotifyEvent
from sow.schema.task import Task

LONGEST_LOG = 2000
OF_NO_TASK = frozenset({NotifyEvent.BATCH_DONE, NotifyEvent.BRAKE})
OF_BATCHES = OF_NO_TASK | {NotifyEvent.NEEDS_PERSON}
"""The events that a batch or an item of it causes."""


def notification_of(
    workspace: Workspace, database: Database, change: Change, event: NotifyEvent, cursor: Cursor
) -> Notification:
    """Return what is told of a change."""
    job = _job_of(database, change)
    task = _task_of(workspace, change.project, change.task)
    return Notification(
        event=event,
        message=message_of(workspace, event, task=change.task, job=change.job, batch=change.batch),
        at=format_time(change.at),
        root=str(workspace.root),
        cursor=str(cursor),
        project=change.project or None,
        task=change.task or None,
        task_name=task.name if task is not None else None,
        job=change.job,
        batch=change.batch,
        agent=(job.agent or None) if job is not None else None,
        executor=(job.executor_name or None) if job is not None else None,
        status=change.data.status,
        cause=change.data.cause,
        reason=change.data.reason or None,
        retry_at=change.data.retry_at,
        log=_last_words(workspace, job) if job is not None and task is not None else None,
        command=_command(change),
    )


def example_of(workspace: Workspace, event: NotifyEvent, *, now: float) -> Notification:
    """Return a notification that nothing has caused, to try a command with."""
    batch = 1 if event in OF_BATCHES else None
    task, job = ("", None) if event in OF_NO_TASK else ("010", None if batch else 1)
    return Notification(
        event=event,
        message=f"{message_of(workspace, event, task=task, job=job, batch=batch)} (a test)",
        test=True,
        at=format_time(now),
        root=str(workspace.root),
        task=task or None,
        job=job,
        batch=batch,
        command=_telling(task, job, batch),
    )


def message_of(
    workspace: Workspace, event: NotifyEvent, *, task: str, job: int | None, batch: int | None
) -> str:
    """Return an event in a sentence that holds letters, digits, spaces and plain stops alone."""
    about = f"task {task}" if task else f"batch {batch}" if batch is not None else "the project"
    behind = f" (job {job})" if job is not None else ""
    where = re.sub(r"[^A-Za-z0-9._-]+", "-", workspace.root.name) or "sow"
    return f"{where}: {about} {MEANINGS[event]}{behind}"


def _job_of(database: Database, change: Change) -> Job | None:
    if change.job is not None:
        with suppress(SowError):  # pruned, or damaged
            return get_job(database, change.job)
    return None


def _task_of(workspace: Workspace, project: ProjectId, task: TaskId) -> Task | None:
    """Return the task, where its project is the one that is checked out."""
    # What reads a state is heavy, and most of what imports this module reads none.
    from sow.state.projects import read_project
    from sow.state.tasks import read_task

    with suppress(SowError, OSError):
        if task and read_project(workspace).id == project:
            return read_task(workspace, task)
    return None


def _last_words(workspace: Workspace, job: Job) -> str | None:
    # Likewise.
    from sow.reports.agents_words import last_of_agent

    with suppress(SowError, OSError):
        entry = last_of_agent(workspace, job)
        if entry is not None:
            return "\n".join(part for part in (entry.action, entry.text) if part)[:LONGEST_LOG]
    return None


def _command(change: Change) -> str | None:
    return _telling(change.task, change.job, change.batch)


def _telling(task: str, job: int | None, batch: int | None) -> str | None:
    """Return the command that tells more. An item of a batch may have had no job yet."""
    if batch is not None and job is None:
        return f"sow batch show {batch}"
    if task:
        return f"sow task explain {task}"
    return f"sow job explain {job}" if job is not None else None
