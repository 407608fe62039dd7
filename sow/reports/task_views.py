"""The read models of a task and of a project: what their files hold, in the form of `--json`.

Pure, and light: `sow task set --json` passes through here. A key without a
value is null rather than missing.
"""

import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

from msgspec import to_builtins

from sow.ids import PhaseName, TaskId
from sow.paths import Workspace
from sow.schema.output.tasks import ProjectStanding, ProjectView, TaskView
from sow.schema.project import Project
from sow.schema.task import Task, TaskStatus


def task_view(workspace: Workspace, task: Task) -> TaskView:
    """Return a task as every command shows it."""
    present = to_builtins(task)
    fields = {name: present.get(name) for name in task.__struct_fields__}
    task_id, agent = fields.pop("id"), fields.pop("assigned_agent")
    return TaskView(task=task_id, agent=agent, folder=task_folder(workspace, task), **fields)


def task_folder(workspace: Workspace, task: Task) -> str:
    """Return the task's folder, relative to the workspace's root."""
    folder = workspace.task(PhaseName(task.phase), TaskId(task.id))
    return os.path.relpath(folder, workspace.root)


def project_view(project: Project) -> ProjectView:
    """Return a project as its file holds it."""
    return ProjectView(**_project_fields(project))


def project_standing(
    project: Project, tasks: Sequence[Task], invalid: Sequence[str]
) -> ProjectStanding:
    """Return a project with how many of its tasks stand where; `invalid` tells of the others."""
    return ProjectStanding(
        **_project_fields(project),
        task_count=len(tasks),
        tasks_by_phase=tasks_by_phase(project, tasks),
        invalid=tuple(invalid),
    )


def tasks_by_phase(project: Project, tasks: Sequence[Task]) -> dict[str, dict[str, int]]:
    """Return, by phase, how many tasks have each status; the project's order of phases first."""
    found = Counter((task.phase, task.status) for task in tasks)
    phases = dict.fromkeys([*project.phases, *sorted(task.phase for task in tasks)])
    return {
        phase: {word.value: found[phase, word] for word in TaskStatus if found[phase, word]}
        for phase in phases
    }


def _project_fields(project: Project) -> dict[str, Any]:
    present = to_builtins(project)
    fields = {name: present.get(name) for name in project.__struct_fields__}
    return {"project": fields.pop("id"), **fields}
