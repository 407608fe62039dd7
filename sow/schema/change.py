"""A line of the record of changes, as the queue's file keeps it and as `sow changes` prints it.

Owns the words for what can have changed. What writes them is
`jobs/forms` (of jobs and attempts) and `jobs.statuses` (of tasks).
"""

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from sow.ids import JobId, ProjectId, TaskId


class ChangeKind(StrEnum):
    """What has changed. A job's new state is told in that state's own word."""

    PLACED = "placed"
    """A call has put the job on record."""
    QUEUED = "queued"
    RUNNING = "running"
    BACKOFF = "backoff"
    PARKED = "parked"
    HELD = "held"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    CANCEL_ASKED = "cancel_asked"
    """Somebody has asked for the job's end."""
    ADOPTED = "adopted"
    """Another worker has taken the running job over."""
    ATTEMPT_BEGAN = "attempt_began"
    ATTEMPT_ENDED = "attempt_ended"
    """Why an attempt ended is on record. Of two for the same attempt the later one holds."""
    WARNING = "budget"
    """Little is left of a budget that binds the job."""
    STALLED = "stalled"
    """The agent of a running job gives no sign of life."""
    STATUS = "status"
    """A task has another status, or the same one in another iteration."""
    SHORT = "short"
    """sow starts no jobs now: too little disk space or memory is free."""
    ROOMY = "roomy"
    """They take jobs again, or the last worker that did not has gone."""
    VERDICT = "verdict"
    """Somebody has judged the work of a task that belongs to a batch."""
    BATCH = "batch"
    """A batch is made, paused, goes on, or has ended."""
    ITEM = "item"
    """An item of a batch stands otherwise, in one of the batch's own words."""
    PRUNED = "pruned"
    """In place of what was pruned since the reader's cursor. On no record itself."""
    OTHER_QUEUE = "other_queue"
    """The reader's cursor belongs to another queue file: all of this one follows. On no record."""


class ChangeData(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a change says besides its kind; what does not belong to the kind is left out."""

    before: str | None = None
    """The job's state, the worker or the task's status before the change."""
    verb: str | None = None
    agent: str | None = None
    executor: str | None = None
    parent: JobId | None = None
    """The job whose agent made the call."""
    cause: str | None = None
    reason: str | None = None
    status: str | None = None
    """The task's status: now, or when the job ended."""
    iteration: int | None = None
    retry_at: str | None = None
    """When a job that waits may be tried again, as ISO 8601."""
    attempt: int | None = None
    worker: str | None = None
    session_id: str | None = None
    exit_code: int | None = None
    exit_signal: int | None = None


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One change on record."""

    seq: int
    """Its number: grows with each commit, and never comes again in the same file."""
    at: Annotated[float, Meta(ge=0, lt=1e11)]
    """When it happened, in seconds since the epoch; of an edit by hand, when its file says."""
    project: ProjectId
    task: TaskId
    job: JobId | None = None
    """The job; for a status, the one that lived at that moment."""
    batch: int | None = None
    """The batch that it belongs to."""
    kind: str
    data: ChangeData
