"""The read model of a task: what its file holds, in the form of `--json`.

Pure, and light: `sow task set --json` passes through here. A key without a
value is null rather than missing.
"""

import os
from typing import Any

from msgspec import to_builtins

from sow.ids import PhaseName, TaskId
from sow.paths import Workspace
from sow.schema.output.costs import CostSum
from sow.schema.output.tasks import (
    ListedTask,
    TaskShown,
    TaskView,
)
from sow.schema.task import Task
from sow.state.waiting import Among


def task_view(workspace: Workspace, task: Task) -> TaskView:
    """Return a task as every command shows it."""
    return TaskView(**_task_fields(workspace, task))


def task_shown(workspace: Workspace, task: Task, used: CostSum | None) -> TaskShown:
    """Return a task with what its agents have used."""
    return TaskShown(**_task_fields(workspace, task), used=used)


def _task_fields(workspace: Workspace, task: Task) -> dict[str, Any]:
    present = to_builtins(task)
    fields = {name: present.get(name) for name in task.__struct_fields__}
    task_id, agent = fields.pop("id"), fields.pop("assigned_agent")
    return {"task": task_id, "agent": agent, "folder": task_folder(workspace, task), **fields}


def listed_view(workspace: Workspace, task: Task, among: Among) -> ListedTask:
    """Return a task as a list of tasks shows it."""
    view = task_view(workspace, task)
    fields = {name: getattr(view, name) for name in view.__struct_fields__}
    return ListedTask(standing=among.standing_of(task), waits_for=among.unmet(task), **fields)


def task_folder(workspace: Workspace, task: Task) -> str:
    """Return the task's folder, relative to the workspace's root."""
    folder = workspace.task(PhaseName(task.phase), TaskId(task.id))
    return os.path.relpath(folder, workspace.root)
