"""A task as the commands show it.

Owns the keys of `--json`, which are those of `state.yaml` and `folder`; a key
without a value is null rather than missing.
"""

import os
from typing import Any

from msgspec import to_builtins

from sow.paths import Workspace
from sow.schema.task import Task


def task_record(workspace: Workspace, task: Task) -> dict[str, Any]:
    """Return `task` for JSON. `folder` is relative to the workspace's root."""
    present = to_builtins(task)
    record = {field: present.get(field) for field in task.__struct_fields__}
    return {**record, "folder": task_folder(workspace, task)}


def task_folder(workspace: Workspace, task: Task) -> str:
    """Return the task's folder, relative to the workspace's root."""
    from sow.ids import PhaseName, TaskId

    folder = workspace.task(PhaseName(task.phase), TaskId(task.id))
    return os.path.relpath(folder, workspace.root)
