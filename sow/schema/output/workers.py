"""Workers and the queue, as commands print them with `--json`."""

from typing import Annotated

import msgspec

from sow.schema.output import fields
from sow.schema.output.fields import about


class WorkerView(msgspec.Struct, frozen=True, kw_only=True):
    """A worker on record."""

    worker: fields.WorkerKey
    pid: fields.Pid
    alive: Annotated[bool, about("whether it is proved to live")]
    life: Annotated[str, about("alive, dead, or unverifiable where nothing here proves either")]
    background: Annotated[bool, about("whether it runs without a terminal")]
    concurrency: Annotated[int, about("how many agents it may run at once")]
    jobs: Annotated[tuple[int, ...], about("the numbers of the jobs that it runs")]
    slots_taken: Annotated[
        int,
        about(
            "how many of them hold a slot, as `sow queue status` counts: an agent that"
            " waits for a job that it has started holds none meanwhile"
        ),
    ]
    started_at: Annotated[str, about("when it was started: UTC, ISO 8601")]
    version: fields.Version


class StoppedWorker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that was asked to leave, and has left."""

    worker: fields.WorkerKey
    pid: fields.Pid


class WorkerLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a background worker's log."""

    worker: fields.WorkerKey
    text: Annotated[str, about("what it said")]


class ServiceFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file with which the system starts a worker of this checkout."""

    system: Annotated[str, about("systemd or launchd")]
    name: Annotated[str, about("the service's name")]
    path: Annotated[str, about("where the file belongs")]
    text: Annotated[str, about("the file")]
    commands: Annotated[tuple[str, ...], about("what to run, in this order, once it lies there")]


class SetAside(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the queue that no job of ours belongs to."""

    at: Annotated[str, about("when it was set aside: UTC, ISO 8601")]
    reason: Annotated[str, about("why")]
    message: Annotated[str, about("how it begins")]


class QueueView(msgspec.Struct, frozen=True, kw_only=True):
    """The queue as a whole."""

    paused_since: Annotated[
        str | None, about("since when it is paused: UTC, ISO 8601; null if it is not")
    ]
    running_by_executor: Annotated[
        dict[str, int],
        about(
            "by executor, how many slots are taken; under the empty name how many jobs"
            " without an agent run, which take none"
        ),
    ]
    jobs_by_state: Annotated[dict[str, int], about("by state, how many jobs there are")]
    waiting: Annotated[int, about("how many messages wait in the queue")]
    set_aside: Annotated[tuple[SetAside, ...], about("messages that were set aside")]
    worker_count: Annotated[int, about("how many workers live")]
    concurrency: Annotated[int, about("how many agents may run at once")]
    step_concurrency: Annotated[
        int, about("how many jobs without an agent may run at once, beside the agents")
    ]
    short_of: Annotated[
        tuple[str, ...],
        about(
            "in words, what living workers are short of (disk space, memory), so that"
            " they take nothing; empty where all take jobs"
        ),
    ]


class Paused(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the queue is paused, after it was paused or let go on."""

    paused_since: Annotated[
        str | None, about("since when it is paused: UTC, ISO 8601; null if it is not")
    ]
    was_paused: Annotated[bool, about("whether it was paused before")]


class WorkerEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A line of what `sow worker` says."""

    at: Annotated[str, about("when: UTC, ISO 8601")]
    level: Annotated[str, about("info, warning or error")]
    message: Annotated[str, about("what it says")]
    job: Annotated[int | None, about("the number of the job that it is about; or null")]
    task: Annotated[str | None, about("the id of the task that it is about; or null")]
    agent: Annotated[str | None, about("the role that it is about; or null")]
