"""What the live view shows, with `--json`: once, as one object."""

from typing import Annotated

import msgspec

from sow.schema.output import fields
from sow.schema.output.fields import about
from sow.schema.output.hosts import SilentHost


class WatchedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A task with its newest job, or a job that belongs to no task of the project."""

    task: fields.JobsTask
    name: Annotated[str, about("the task's name; empty without a task")]
    job: Annotated[int | None, about("the number of the newest job; null without one")]
    who: Annotated[str, about("the role of its job or task; for a job without an agent, the verb")]
    executor: Annotated[str | None, about("the job's executor; null without one")]
    state: Annotated[str, about("the state of a job that has not ended, else the task's status")]
    status: Annotated[str | None, about("the task's status; null without a task")]
    now: Annotated[str, about("what its agent does now, or why nothing happens; often empty")]
    waits_on: Annotated[
        str,
        about("what a job that has not ended waits for, as in `on` of `sow status`; else empty"),
    ]
    quiet_seconds: Annotated[
        float | None,
        about("seconds since the agent printed its last line; null if the agent does not run"),
    ]
    seconds: Annotated[
        float | None,
        about("how long the newest job has taken since its first start; null before that"),
    ]
    host: Annotated[
        str | None,
        about(
            "the host that runs its job or had its last attempt, if hosts share the queue;"
            " null if the job has ended, and without hosts"
        ),
    ]
    attempt_count: Annotated[int, about("how many attempts the newest job has had")]
    token_count: Annotated[
        int | None, about("the tokens that all jobs of the task have used; null if unknown")
    ]
    cost_usd: fields.CostUsd
    is_estimate: Annotated[bool, about("whether part of the cost is an estimate")]


class WatchedGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Rows below one heading: a batch that has not ended, or a phase."""

    title: Annotated[str, about("the heading")]
    about: Annotated[str, about("its state, in words")]
    rows: Annotated[
        tuple[WatchedRow, ...],
        about("its rows; first those whose agents work, then those that wait"),
    ]


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the live view."""

    title: Annotated[str, about("the project and its state")]
    live_workers: Annotated[int, about("how many workers are alive")]
    slots_taken: Annotated[int, about("how many agents use a slot")]
    slots: Annotated[int, about("how many agents the workers run at once")]
    paused_since: Annotated[
        str | None, about("since when the queue is paused: UTC, ISO 8601; null if it is not")
    ]
    shortage: Annotated[
        str, about("what all workers have too little of, so that they start no job; else empty")
    ]
    live_hosts: Annotated[int, about("how many hosts are heard; 0 unless hosts share the queue")]
    silent_hosts: Annotated[
        tuple[SilentHost, ...],
        about("the hosts that are not heard any more; empty unless hosts share the queue"),
    ]
    token_count: Annotated[
        int | None, about("the tokens that all jobs of the project have used; null if unknown")
    ]
    cost_usd: fields.CostUsd
    is_estimate: Annotated[bool, about("whether part of the cost is an estimate")]
    groups: Annotated[tuple[WatchedGroup, ...], about("batches, phases, other jobs")]
    faults: Annotated[tuple[str, ...], about("what could not be read, one sentence each")]
