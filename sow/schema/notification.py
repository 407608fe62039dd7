"""What is told to a person's own commands: the events, what a command gets, and how it ended.

Owns the words. Which change on record is an event is `jobs.events`' to know.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

import msgspec

from sow.ids import JobId, ProjectId, TaskId, WorkerId
from sow.schema.output.fields import about


class NotifyEvent(StrEnum):
    """What a person may want to hear of."""

    PAUSED = "paused"
    FAILED = "failed"
    NEEDS_REVIEW = "needs_review"
    NEEDS_PERSON = "needs_person"
    BATCH_DONE = "batch_done"
    PARKED = "parked"
    STALLED = "stalled"
    WARNING = "budget"
    BRAKE = "brake"


MEANINGS: Mapping[NotifyEvent, str] = {
    NotifyEvent.PAUSED: "is paused and waits for an answer",
    NotifyEvent.FAILED: "has failed",
    NotifyEvent.NEEDS_REVIEW: "waits for a review",
    NotifyEvent.NEEDS_PERSON: "needs a person",
    NotifyEvent.BATCH_DONE: "is done",
    NotifyEvent.PARKED: "waits for a usage limit to reset",
    NotifyEvent.STALLED: "gives no sign of life",
    NotifyEvent.WARNING: "has come to its budget",
    NotifyEvent.BRAKE: "was stopped by its brake",
}
"""What has become of the task or batch, as a message for people says it."""


class Notification(msgspec.Struct, frozen=True, kw_only=True):
    """What a command of `notify:` reads from its standard input: one JSON object on one line.

    Texts from agents stand in `reason` and `log` alone, and are not fit to be run.
    """

    event: Annotated[NotifyEvent, about("what has happened")]
    message: Annotated[
        str, about("the same in a sentence of sow's own: no word of an agent is in it")
    ]
    test: Annotated[bool, about("whether `sow notify test` made it up")] = False
    at: Annotated[str, about("when it happened: UTC, ISO 8601")]
    root: Annotated[str, about("the workspace's root")]
    cursor: Annotated[str, about("where it stands in `sow changes`; empty in a test")] = ""
    project: Annotated[str | None, about("the project's id")] = None
    task: Annotated[str | None, about("the id of the task that it is about")] = None
    task_name: Annotated[str | None, about("the task's name, if its project is checked out")] = None
    job: Annotated[int | None, about("the number of the job that it is about")] = None
    batch: Annotated[int | None, about("the batch that it is about")] = None
    agent: Annotated[str | None, about("the role whose job it is")] = None
    executor: Annotated[str | None, about("the executor that ran it")] = None
    status: Annotated[str | None, about("the task's status")] = None
    cause: Annotated[str | None, about("why the job's last attempt ended")] = None
    reason: Annotated[
        str | None, about("the same in words; they may come from an agent or its CLI")
    ] = None
    retry_at: Annotated[str | None, about("when a parked job goes on: UTC, ISO 8601")] = None
    log: Annotated[str | None, about("what the job's agent has logged last, in its words")] = None
    command: Annotated[str | None, about("the command that tells more")] = None


class DeliveryState(StrEnum):
    """How the command of a notification ended."""

    RUNNING = "running"
    DELIVERED = "delivered"
    """It ended with exit code 0."""
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    UNCERTAIN = "uncertain"
    """Whoever ran it died meanwhile: nobody knows, and it is not run again."""


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """A notification on record. It is there before its command starts, and is never made twice."""

    seq: int
    """The change that it tells of."""
    event: NotifyEvent
    project: ProjectId
    task: TaskId
    job: JobId | None
    worker_id: WorkerId
    """The worker that tells it."""
    state: DeliveryState
    reason: str
    began_at: float
    ended_at: float | None = None


class NoticeOrders(msgspec.Struct, frozen=True, kw_only=True):
    """What the program is told that runs one command."""

    run: str
    """A command line for `/bin/sh -c`."""
    seconds: float
    stdin: str
    spares: str
    """A folder as an attempt has one: workers of this queue that the command starts live on."""
    packages: str | None


class NoticeResult(msgspec.Struct, frozen=True, kw_only=True):
    """How the command ended."""

    state: DeliveryState
    exit_code: int | None = None
    seconds: float = 0.0
    reason: str = ""
    """Why it counts as failed; empty where it does not."""
    output: str = ""
    """The end of what it printed, fit for any terminal."""
