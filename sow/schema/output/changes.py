"""A change on record with `--json`."""

from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from sow.schema.output import fields
from sow.schema.output.fields import about


class ChangeFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a change says besides its kind; what does not belong to the kind is left out."""

    before: Annotated[str, about("the state, worker or status before the change")] | UnsetType = (
        UNSET
    )
    verb: fields.Verb | UnsetType = UNSET
    agent: fields.Agent | UnsetType = UNSET
    executor: fields.Executor | UnsetType = UNSET
    parent: Annotated[int, about("the number of the job whose agent made the call")] | UnsetType = (
        UNSET
    )
    cause: Annotated[str, about("why it ended or waits")] | UnsetType = UNSET
    reason: Annotated[str, about("the cause in words")] | UnsetType = UNSET
    status: Annotated[str, about("the task's status: now, or when the job ended")] | UnsetType = (
        UNSET
    )
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

    cursor: Annotated[str, about("what `--since` takes to go on after this line")]
    seq: Annotated[int, about("its number, which only grows and is never given twice in one file")]
    at: Annotated[str, about("when it was made: UTC, ISO 8601")]
    project: Annotated[str | None, about("the project's id; null of a notice")]
    task: Annotated[str | None, about("the task's id; null of a notice")]
    job: Annotated[int | None, about("the job's number; null where none has a part")]
    batch: Annotated[int | None, about("the batch that it belongs to; else null")]
    kind: Annotated[str, about("what has changed; a job's new state in its own word")]
    data: Annotated[ChangeFacts, about("what it says besides")]


class ChangesSince(msgspec.Struct, frozen=True, kw_only=True):
    """What has changed since a cursor, and where the next call goes on."""

    changes: Annotated[tuple[ChangeView, ...], about("the changes, oldest first")]
    cursor: Annotated[str, about("what `--since` takes the next time")]
