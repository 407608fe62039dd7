"""What the live view shows, with `--json`: once, as one object."""

from typing import Annotated

import msgspec
from msgspec import Meta

from sow.schema.output import fields


class WatchedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A task with its newest job, or a job that is about no task of the project."""

    task: fields.JobsTask
    name: Annotated[str, Meta(description="the task's name; empty without a task")]
    job: Annotated[int | None, Meta(description="the number of the newest job; null without one")]
    who: Annotated[
        str, Meta(description="the role at work or assigned; of a job without an agent its verb")
    ]
    executor: Annotated[str | None, Meta(description="the job's executor; null without one")]
    state: Annotated[
        str, Meta(description="of a job that lives its state, else the status of the task")
    ]
    status: Annotated[str | None, Meta(description="the task's status; null without a task")]
    now: Annotated[
        str, Meta(description="what its agent does now, or why nothing is done; often empty")
    ]
    waits_on: Annotated[
        str, Meta(description="what a live job waits for, in the words of `sow status`; else empty")
    ]
    quiet_seconds: Annotated[
        float | None,
        Meta(description="how long ago its agent wrote its last line; null if it does not run"),
    ]
    seconds: Annotated[
        float | None,
        Meta(description="how long the newest job lives, or took; null without one"),
    ]
    attempt_count: Annotated[int, Meta(description="how many attempts the newest job has had")]
    token_count: Annotated[
        int | None, Meta(description="what all jobs of the task have used; null if nobody tells")
    ]
    cost_usd: fields.CostUsd
    is_estimate: Annotated[bool, Meta(description="whether something of the money is an estimate")]


class WatchedGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Rows that stand below one heading: a batch that goes on, or a phase."""

    title: Annotated[str, Meta(description="the heading")]
    about: Annotated[str, Meta(description="how it stands, in words")]
    rows: Annotated[tuple[WatchedRow, ...], Meta(description="at work first, then what waits")]


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """All that the live view shows."""

    title: Annotated[str, Meta(description="the project and where it stands")]
    live_workers: Annotated[int, Meta(description="how many workers live")]
    slots_taken: Annotated[int, Meta(description="how many agents hold a slot")]
    slots: Annotated[int, Meta(description="how many agents the workers run at once")]
    paused_since: Annotated[
        str | None, Meta(description="since when the queue is paused: UTC, ISO 8601; else null")
    ]
    shortage: Annotated[
        str, Meta(description="what every worker is short of, so that none takes a job; else empty")
    ]
    token_count: Annotated[
        int | None, Meta(description="what all jobs of the project have used; null if none tells")
    ]
    cost_usd: fields.CostUsd
    is_estimate: Annotated[bool, Meta(description="whether something of the money is an estimate")]
    groups: Annotated[tuple[WatchedGroup, ...], Meta(description="batches, phases, other jobs")]
    faults: Annotated[tuple[str, ...], Meta(description="what could not be read, a sentence each")]
