"""A batch with `--json`: one form, whichever command shows it."""

from typing import Annotated, Any

import msgspec

from sow.schema.output import fields
from sow.schema.output.fields import about
from sow.schema.output.hosts import SilentHost


class BatchItemView(msgspec.Struct, frozen=True, kw_only=True):
    """A task of a batch."""

    task: fields.TaskKey
    agent: Annotated[str | None, about("the role; null if the task cannot be read")]
    state: Annotated[str, about("the task's state in the batch (docs/overnight.md)")]
    status: Annotated[str | None, about("the task's own status; null if it cannot be read")]
    iteration: Annotated[int, about("the task's iteration; 0 if it cannot be read")]
    job_count: Annotated[int, about("how many jobs the task has had in this batch")]
    attempt_count: Annotated[int, about("how many attempts of agents these jobs had")]
    seconds: Annotated[float, about("how long these attempts have run together, in seconds")]
    token_count: Annotated[
        int | None, about("the tokens that its agents have used; null if unknown")
    ]
    cost_usd: fields.CostUsd
    is_estimate: Annotated[bool, about("whether part of the cost is an estimate")]
    reason: Annotated[str, about("the reason for its state; empty if there is none")]
    question: Annotated[str, about("the question of its agent, in full; empty if there is none")]
    newest_feedback: Annotated[
        str,
        about(
            "if it needs a person or has failed: the corrections of its last review,"
            " shortened; else empty"
        ),
    ]
    command: Annotated[
        str, about("the command that a person can run to continue it; empty if there is none")
    ]
    host: Annotated[
        str | None,
        about(
            "the host that runs its job or had its last attempt, if hosts share the queue;"
            " null before its first attempt, and without hosts"
        ),
    ] = None
    steers: Annotated[
        tuple[str, ...], about("the files of the judged change that control agents or machines")
    ] = ()


class BatchView(msgspec.Struct, frozen=True, kw_only=True):
    """A batch, as every command shows it."""

    batch: Annotated[int, about("the batch's number")]
    name: Annotated[str, about("its name; empty if it has none")]
    project: fields.ProjectKey
    state: Annotated[str, about("running, paused, cancelled or over")]
    reason: Annotated[str, about("why it is paused or waits; empty if neither")]
    rests: Annotated[bool, about("whether nothing continues before a person does something")]
    made_at: fields.CreatedAt
    ended_at: fields.EndedAt
    exit_code: fields.ExitCode
    counts: Annotated[dict[str, int], about("how many of its tasks are in each state")]
    is_behind: Annotated[
        bool,
        about(
            "only in lists: whether a worker has not looked at its newest changes yet, so"
            " that its state may be out of date"
        ),
    ] = False
    continue_with: Annotated[
        str | None,
        about("the command that continues waiting; null if there is nothing to wait for"),
    ]


class BatchDetail(BatchView, frozen=True, kw_only=True):
    """A batch with its settings and its tasks."""

    policy: Annotated[
        dict[str, Any], about("the settings of the batch: what it does with each task")
    ]
    items: Annotated[tuple[BatchItemView, ...], about("its tasks, in the order of their ids")]
    has_worker: Annotated[bool, about("whether a worker is alive that can continue it")] = True
    unserved: Annotated[
        dict[str, tuple[str, ...]],
        about(
            "for what its tasks wait that no host offers which is heard, in words, and which"
            " tasks; empty unless hosts share the queue"
        ),
    ] = {}
    silent_hosts: Annotated[
        tuple[SilentHost, ...],
        about("the hosts that are not heard any more; empty unless hosts share the queue"),
    ] = ()


class NoBatch(msgspec.Struct, frozen=True, kw_only=True):
    """What `sow batch run` prints if no task is left, so that it makes no batch."""

    batch: Annotated[None, about("always null")] = None
