"""Notifications, as commands print them with `--json`."""

from typing import Annotated

import msgspec

from sow.schema.output import fields
from sow.schema.output.fields import about


class NotificationView(msgspec.Struct, frozen=True, kw_only=True):
    """One event for which a command of yours was run."""

    seq: Annotated[int, about("the number of the change that it reports")]
    event: Annotated[str, about("the event")]
    project: Annotated[str | None, about("the project's id; null if it belongs to none")]
    task: Annotated[str | None, about("the task's id; null if it belongs to none")]
    job: Annotated[int | None, about("the job's number; null if it belongs to none")]
    worker: fields.WorkerKey
    state: Annotated[
        str,
        about(
            "running, delivered, failed, timed_out, or uncertain: its worker died while"
            " the command ran"
        ),
    ]
    reason: Annotated[str, about("why it was not delivered; empty if it was")]
    began_at: Annotated[str, about("when the command was started: UTC, ISO 8601")]
    ended_at: Annotated[
        str | None,
        about("when the command ended, or its result was found to be uncertain; null before that"),
    ]


class NotificationTried(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a command that `sow notify test` has run."""

    event: Annotated[str, about("the event")]
    state: Annotated[str, about("delivered, failed, timed_out or uncertain")]
    exit_code: Annotated[int | None, about("its exit code; null if it has none")]
    seconds: Annotated[float, about("how long it ran")]
    reason: Annotated[str, about("why it was not delivered; empty if it was")]
    last_lines: Annotated[str, about("the last lines that it printed")]
