"""What `sow task diff` prints with `--json`."""

from typing import Annotated

import msgspec

from sow.schema.output import fields
from sow.schema.output.fields import about


class TaskDiff(msgspec.Struct, frozen=True, kw_only=True):
    """What a task has changed in the repository, or all tasks together where it has no clone."""

    task: fields.TaskKey
    is_tasks_own: Annotated[
        bool, about("whether it is this task's change alone; false without a clone: then all")
    ]
    base: Annotated[str | None, about("the commit or tree that it is told against; null: HEAD")]
    commit: Annotated[str | None, about("the task's last commit; null for the working tree")]
    files: Annotated[tuple[str, ...], about("the files that are changed")]
    steering_files: Annotated[tuple[str, ...], about("those of them that steer agents or machines")]
    left_out: Annotated[tuple[str, ...], about("what its commits change of sow's own files")]
    stat: Annotated[str | None, about("a line for each file; null without --stat")]
    patch: Annotated[str | None, about("the change as a patch; null with --stat or --name-only")]
