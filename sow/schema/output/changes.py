"""A change on record with `--json`."""

from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from sow.schema.output import fields
from sow.schema.output.fields import about


class ChangeFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """More facts about a change. Keys that its kind does not use are left out."""

    before: Annotated[str, about("the state, worker or status before the change")] | UnsetType = (
        UNSET
    )
    verb: fields.Verb | UnsetType = UNSET
    agent: fields.Agent | UnsetType = UNSET
    executor: fields.Executor | UnsetType = UNSET
    parent: Annotated[int, about("the number of the job whose agent made the call")] | UnsetType = (
        UNSET
    )
    cause: Annotated[str, about("why the job ended or waits")] | UnsetType = UNSET
    reason: Annotated[str, about("the cause in words")] | UnsetType = UNSET
    status: (
        Annotated[str, about("the task's status after the change, or at the end of the job")]
        | UnsetType
    ) = UNSET
    iteration: Annotated[int, about("the task's iteration")] | UnsetType = UNSET
    retry_at: (
        Annotated[str, about("when a job that waits is tried again: UTC, ISO 8601")] | UnsetType
    ) = UNSET
    attempt: Annotated[int, about("the attempt's number")] | UnsetType = UNSET
    worker: Annotated[str, about("the worker's id")] | UnsetType = UNSET
    session_id: Annotated[str, about("the session's id")] | UnsetType = UNSET
    exit_code: Annotated[int, about("the exit code of the agent's own process")] | UnsetType = UNSET
    exit_signal: Annotated[int, about("the signal that ended that process")] | UnsetType = UNSET


class ChangeView(msgspec.Struct, frozen=True, kw_only=True):
    """A change of a job, an attempt or a task's status, as `sow changes` shows it."""

    cursor: Annotated[str, about("the value of `--since` that continues after this line")]
    seq: Annotated[int, about("its number; numbers grow and are unique in one queue file")]
    at: Annotated[str, about("when the change was made: UTC, ISO 8601")]
    project: Annotated[
        str | None, about("the project's id; null for a change that belongs to no project")
    ]
    task: Annotated[str | None, about("the task's id; null for a change that belongs to no task")]
    job: Annotated[int | None, about("the job's number; null if it belongs to no job")]
    batch: Annotated[int | None, about("the batch that it belongs to; else null")]
    kind: Annotated[
        str, about("what has changed (docs/howto/changes.md); for a job, its new state")
    ]
    data: Annotated[ChangeFacts, about("more facts about it")]


class ChangesSince(msgspec.Struct, frozen=True, kw_only=True):
    """What has changed since a cursor, and the cursor for the next call."""

    changes: Annotated[tuple[ChangeView, ...], about("the changes, oldest first")]
    cursor: Annotated[str, about("the value of `--since` for the next call")]
