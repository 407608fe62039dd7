"""Notifications, as commands print them with `--json`."""

from typing import Annotated

import msgspec

from sow.schema.output import fields
from sow.schema.output.fields import about


class NotificationView(msgspec.Struct, frozen=True, kw_only=True):
    """What a command of the user's was told."""

    seq: Annotated[int, about("the number of the change that it tells of")]
    event: Annotated[str, about("the event")]
    project: Annotated[str | None, about("the project's id; null for none")]
    task: Annotated[str | None, about("the id of the task; null for none")]
    job: Annotated[int | None, about("the number of the job; null for none")]
    worker: fields.WorkerKey
    state: Annotated[
        str,
        about(
            "running, delivered, failed, timed_out, or uncertain: its worker died while"
            " the command ran"
        ),
    ]
    reason: Annotated[str, about("why it was not delivered; empty where it was")]
    began_at: Annotated[str, about("when the command was started: UTC, ISO 8601")]
    ended_at: Annotated[
        str | None, about("when it ended, or was found to be uncertain; null before")
    ]


class NotificationTried(msgspec.Struct, frozen=True, kw_only=True):
    """How a command has ended that `sow notify test` has run."""

    event: Annotated[str, about("the event")]
    state: Annotated[str, about("delivered, failed, timed_out or uncertain")]
    exit_code: Annotated[int | None, about("its exit code; null without one")]
    seconds: Annotated[float, about("how long it ran")]
    reason: Annotated[str, about("why it does not count as delivered; or empty")]
    last_lines: Annotated[str, about("the last lines of what it has printed")]
