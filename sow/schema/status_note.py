"""A note that a task's state was written. Each command that sets a status makes one."""

from typing import Annotated

import msgspec
from msgspec import Meta

from sow.ids import ProjectId
from sow.schema.task import TaskIdText, TaskStatus


class StatusNote(msgspec.Struct, frozen=True, kw_only=True):
    """That a task's `state.yaml` was written: a line of `run/statuses.jsonl`.

    Anybody may write into that file. What goes beyond these bounds, no record can hold.
    """

    project: Annotated[ProjectId, Meta(max_length=200)]
    task: Annotated[TaskIdText, Meta(max_length=200)]
    at: float
    status: TaskStatus
    iteration: Annotated[int, Meta(ge=1, le=2**63 - 1)]
    file: Annotated[str, Meta(max_length=200)]
    """Which version of the file that is: its inode, time and size."""
