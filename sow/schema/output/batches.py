"""A batch with `--json`: one form, whichever command shows it."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sow.schema.output import fields


class BatchItemView(msgspec.Struct, frozen=True, kw_only=True):
    """A task of a batch."""

    task: fields.TaskKey
    agent: Annotated[str | None, Meta(description="the role; null where the task cannot be read")]
    state: Annotated[
        str, Meta(description="where the item stands (docs/overnight.md), a word of the batch")
    ]
    status: Annotated[
        str | None, Meta(description="the task's own status; null where it cannot be read")
    ]
    iteration: Annotated[int, Meta(description="the task's iteration; 0 where it cannot be read")]
    job_count: Annotated[int, Meta(description="how many jobs it has had in this batch")]
    attempt_count: Annotated[int, Meta(description="how many attempts of agents these were")]
    seconds: Annotated[float, Meta(description="how long these have run, in seconds")]
    token_count: Annotated[
        int | None, Meta(description="the tokens that its agents have used; null if nobody tells")
    ]
    cost_usd: fields.CostUsd
    is_estimate: Annotated[bool, Meta(description="whether something of the money is an estimate")]
    reason: Annotated[str, Meta(description="why it stands so; empty where nothing is to be said")]
    question: Annotated[
        str, Meta(description="what its agent asks, in full; empty where it asks nothing")
    ]
    newest_feedback: Annotated[
        str,
        Meta(
            description="what its last review asked for, shortened, where it waits for a person or"
            " has failed; else empty"
        ),
    ]
    command: Annotated[
        str, Meta(description="the command by which a person helps it on; empty where none does")
    ]
    steers: Annotated[
        tuple[str, ...],
        Meta(description="the files of the judged change that steer agents or machines"),
    ] = ()


class BatchView(msgspec.Struct, frozen=True, kw_only=True):
    """A batch, as every command shows it."""

    batch: Annotated[int, Meta(description="the batch's number")]
    name: Annotated[str, Meta(description="its name; empty where it was given none")]
    project: fields.ProjectKey
    state: Annotated[str, Meta(description="running, paused, cancelled or over")]
    reason: Annotated[str, Meta(description="why it is paused or waits; empty where it does not")]
    rests: Annotated[bool, Meta(description="whether nothing of it goes on by itself")]
    made_at: fields.CreatedAt
    ended_at: fields.EndedAt
    exit_code: fields.ExitCode
    counts: Annotated[dict[str, int], Meta(description="how many items stand where")]
    is_behind: Annotated[
        bool,
        Meta(
            description="whether something has happened to it since that no worker has looked at:"
            " so it may be in a list alone, which tells what is on record"
        ),
    ] = False
    continue_with: Annotated[
        str | None, Meta(description="the command that goes on waiting; null where nothing does")
    ]


class BatchDetail(BatchView, frozen=True, kw_only=True):
    """A batch with its policy and its items."""

    policy: Annotated[dict[str, Any], Meta(description="what it does with each task")]
    items: Annotated[tuple[BatchItemView, ...], Meta(description="its tasks, by their ids")]
    has_worker: Annotated[
        bool, Meta(description="whether a worker is alive that would drive it")
    ] = True


class NoBatch(msgspec.Struct, frozen=True, kw_only=True):
    """What `sow batch run` prints where no task is left: no batch was made."""

    batch: Annotated[None, Meta(description="always null")] = None
