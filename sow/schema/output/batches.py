"""A batch with `--json`: one form, whichever command shows it."""

from typing import Annotated, Any

import msgspec

from sow.schema.output import fields
from sow.schema.output.fields import about


class BatchItemView(msgspec.Struct, frozen=True, kw_only=True):
    """A task of a batch."""

    task: fields.TaskKey
    agent: Annotated[str | None, about("the role; null where the task cannot be read")]
    state: Annotated[str, about("where the item stands (docs/overnight.md), a word of the batch")]
    status: Annotated[str | None, about("the task's own status; null where it cannot be read")]
    iteration: Annotated[int, about("the task's iteration; 0 where it cannot be read")]
    job_count: Annotated[int, about("how many jobs it has had in this batch")]
    attempt_count: Annotated[int, about("how many attempts of agents these were")]
    seconds: Annotated[float, about("how long these have run, in seconds")]
    token_count: Annotated[
        int | None, about("the tokens that its agents have used; null if nobody tells")
    ]
    cost_usd: fields.CostUsd
    is_estimate: Annotated[bool, about("whether something of the money is an estimate")]
    reason: Annotated[str, about("why it stands so; empty where nothing is to be said")]
    question: Annotated[str, about("what its agent asks, in full; empty where it asks nothing")]
    newest_feedback: Annotated[
        str,
        about(
            "what its last review asked for, shortened, where it waits for a person or"
            " has failed; else empty"
        ),
    ]
    command: Annotated[
        str, about("the command by which a person helps it on; empty where none does")
    ]
    steers: Annotated[
        tuple[str, ...], about("the files of the judged change that steer agents or machines")
    ] = ()


class BatchView(msgspec.Struct, frozen=True, kw_only=True):
    """A batch, as every command shows it."""

    batch: Annotated[int, about("the batch's number")]
    name: Annotated[str, about("its name; empty where it was given none")]
    project: fields.ProjectKey
    state: Annotated[str, about("running, paused, cancelled or over")]
    reason: Annotated[str, about("why it is paused or waits; empty where it does not")]
    rests: Annotated[bool, about("whether nothing of it goes on by itself")]
    made_at: fields.CreatedAt
    ended_at: fields.EndedAt
    exit_code: fields.ExitCode
    counts: Annotated[dict[str, int], about("how many items stand where")]
    is_behind: Annotated[
        bool,
        about(
            "whether something has happened to it since that no worker has looked at:"
            " so it may be in a list alone, which tells what is on record"
        ),
    ] = False
    continue_with: Annotated[
        str | None, about("the command that goes on waiting; null where nothing does")
    ]


class BatchDetail(BatchView, frozen=True, kw_only=True):
    """A batch with its policy and its items."""

    policy: Annotated[dict[str, Any], about("what it does with each task")]
    items: Annotated[tuple[BatchItemView, ...], about("its tasks, by their ids")]
    has_worker: Annotated[bool, about("whether a worker is alive that would drive it")] = True


class NoBatch(msgspec.Struct, frozen=True, kw_only=True):
    """What `sow batch run` prints where no task is left: no batch was made."""

    batch: Annotated[None, about("always null")] = None
