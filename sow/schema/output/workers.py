"""Workers and the queue, as commands print them with `--json`."""

from typing import Annotated

import msgspec

from sow.schema.output import fields
from sow.schema.output.fields import about


class WorkerView(msgspec.Struct, frozen=True, kw_only=True):
    """A known worker."""

    worker: fields.WorkerKey
    pid: fields.Pid
    alive: Annotated[bool, about("whether it is known to be alive")]
    life: Annotated[str, about("alive, dead, or unverifiable (sow cannot see which)")]
    background: Annotated[bool, about("whether it runs without a terminal")]
    concurrency: Annotated[int, about("how many agents it may run at once")]
    jobs: Annotated[tuple[int, ...], about("the numbers of the jobs that it runs")]
    slots_taken: Annotated[
        int,
        about(
            "how many of them use a slot; an agent that waits for a job that it has started"
            " uses none"
        ),
    ]
    started_at: Annotated[str, about("when it was started: UTC, ISO 8601")]
    version: fields.Version


class StoppedWorker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that was asked to stop, and has stopped."""

    worker: fields.WorkerKey
    pid: fields.Pid


class WorkerLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a background worker's log."""

    worker: fields.WorkerKey
    text: Annotated[str, about("the line")]


class ServiceFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file with which the operating system starts a worker of this checkout."""

    system: Annotated[str, about("systemd or launchd")]
    name: Annotated[str, about("the service's name")]
    path: Annotated[str, about("where to put the file")]
    text: Annotated[str, about("the file's content")]
    commands: Annotated[
        tuple[str, ...], about("the commands to run, in this order, after the file is there")
    ]


class SetAside(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the queue that belongs to no job of sow."""

    at: Annotated[str, about("when it was set aside: UTC, ISO 8601")]
    reason: Annotated[str, about("why")]
    message: Annotated[str, about("its beginning")]


class QueueView(msgspec.Struct, frozen=True, kw_only=True):
    """The queue as a whole."""

    paused_since: Annotated[
        str | None, about("since when it is paused: UTC, ISO 8601; null if it is not")
    ]
    running_by_executor: Annotated[
        dict[str, int],
        about(
            "for each executor, how many slots are used; the empty name counts running jobs"
            " without an agent, which use no slot"
        ),
    ]
    jobs_by_state: Annotated[dict[str, int], about("for each state, how many jobs there are")]
    waiting: Annotated[int, about("how many messages wait in the queue")]
    set_aside: Annotated[tuple[SetAside, ...], about("messages that were set aside")]
    worker_count: Annotated[int, about("how many workers are alive")]
    concurrency: Annotated[int, about("how many agents may run at once")]
    step_concurrency: Annotated[
        int, about("how many jobs without an agent may run at once, in addition to the agents")
    ]
    short_of: Annotated[
        tuple[str, ...],
        about(
            "what workers have too little of (disk space, memory), so that they start no"
            " job; empty if all start jobs"
        ),
    ]


class Paused(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the queue is paused, after the command."""

    paused_since: Annotated[
        str | None, about("since when it is paused: UTC, ISO 8601; null if it is not")
    ]
    was_paused: Annotated[bool, about("whether it was paused before")]


class WorkerEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One line that `sow worker` prints."""

    at: Annotated[str, about("when that was: UTC, ISO 8601")]
    level: Annotated[str, about("info, warning or error")]
    message: Annotated[str, about("the text")]
    job: Annotated[int | None, about("the number of the job that it is about; or null")]
    task: Annotated[str | None, about("the id of the task that it is about; or null")]
    agent: Annotated[str | None, about("the role that it is about; or null")]
