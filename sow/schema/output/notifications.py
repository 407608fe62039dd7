"""Notifications, as commands print them with `--json`."""

from typing import Annotated

import msgspec
from msgspec import Meta

from sow.schema.output import fields


class NotificationView(msgspec.Struct, frozen=True, kw_only=True):
    """What a command of the user's was told."""

    seq: Annotated[int, Meta(description="the number of the change that it tells of")]
    event: Annotated[str, Meta(description="the event")]
    project: Annotated[str | None, Meta(description="the project's id; null for none")]
    task: Annotated[str | None, Meta(description="the id of the task; null for none")]
    job: Annotated[int | None, Meta(description="the number of the job; null for none")]
    worker: fields.WorkerKey
    state: Annotated[
        str,
        Meta(
            description="running, delivered, failed, timed_out, or uncertain: its worker died while"
            " the command ran"
        ),
    ]
    reason: Annotated[str, Meta(description="why it was not delivered; empty where it was")]
    began_at: Annotated[str, Meta(description="when the command was started: UTC, ISO 8601")]
    ended_at: Annotated[
        str | None, Meta(description="when it ended, or was found to be uncertain; null before")
    ]


class NotificationTried(msgspec.Struct, frozen=True, kw_only=True):
    """How a command has ended that `sow notify test` has run."""

    event: Annotated[str, Meta(description="the event")]
    state: Annotated[str, Meta(description="delivered, failed, timed_out or uncertain")]
    exit_code: Annotated[int | None, Meta(description="its exit code; null without one")]
    seconds: Annotated[float, Meta(description="how long it ran")]
    reason: Annotated[str, Meta(description="why it does not count as delivered; or empty")]
    last_lines: Annotated[str, Meta(description="the last lines of what it has printed")]
