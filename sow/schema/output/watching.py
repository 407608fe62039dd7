"""What the live view shows, with `--json`: once, as one object."""

from typing import Annotated

import msgspec

from sow.schema.output import fields
from sow.schema.output.fields import about


class WatchedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A task with its newest job, or a job that is about no task of the project."""

    task: fields.JobsTask
    name: Annotated[str, about("the task's name; empty without a task")]
    job: Annotated[int | None, about("the number of the newest job; null without one")]
    who: Annotated[str, about("the role at work or assigned; of a job without an agent its verb")]
    executor: Annotated[str | None, about("the job's executor; null without one")]
    state: Annotated[str, about("of a job that lives its state, else the status of the task")]
    status: Annotated[str | None, about("the task's status; null without a task")]
    now: Annotated[str, about("what its agent does now, or why nothing is done; often empty")]
    waits_on: Annotated[
        str, about("what a live job waits for, in the words of `sow status`; else empty")
    ]
    quiet_seconds: Annotated[
        float | None, about("how long ago its agent wrote its last line; null if it does not run")
    ]
    seconds: Annotated[
        float | None, about("how long the newest job lives, or took; null without one")
    ]
    attempt_count: Annotated[int, about("how many attempts the newest job has had")]
    token_count: Annotated[
        int | None, about("what all jobs of the task have used; null if nobody tells")
    ]
    cost_usd: fields.CostUsd
    is_estimate: Annotated[bool, about("whether something of the money is an estimate")]


class WatchedGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Rows that stand below one heading: a batch that goes on, or a phase."""

    title: Annotated[str, about("the heading")]
    about: Annotated[str, about("how it stands, in words")]
    rows: Annotated[tuple[WatchedRow, ...], about("at work first, then what waits")]


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """All that the live view shows."""

    title: Annotated[str, about("the project and where it stands")]
    live_workers: Annotated[int, about("how many workers live")]
    slots_taken: Annotated[int, about("how many agents hold a slot")]
    slots: Annotated[int, about("how many agents the workers run at once")]
    paused_since: Annotated[
        str | None, about("since when the queue is paused: UTC, ISO 8601; else null")
    ]
    shortage: Annotated[
        str, about("what every worker is short of, so that none takes a job; else empty")
    ]
    token_count: Annotated[
        int | None, about("what all jobs of the project have used; null if none tells")
    ]
    cost_usd: fields.CostUsd
    is_estimate: Annotated[bool, about("whether something of the money is an estimate")]
    groups: Annotated[tuple[WatchedGroup, ...], about("batches, phases, other jobs")]
    faults: Annotated[tuple[str, ...], about("what could not be read, a sentence each")]
