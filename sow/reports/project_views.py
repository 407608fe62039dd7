"""The read model of a project: what its file holds, in the form of `--json`.

Pure. A key without a value is null rather than missing.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from msgspec import to_builtins

from sow.schema.output.projects import ProjectStanding, ProjectView
from sow.schema.project import Project
from sow.schema.task import Task, TaskStatus


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
    lists = {name: tuple(fields.pop(name) or ()) for name in ("inputs", "outputs", "feedback")}
    standing = {
        "type": project.kind.value,
        "state": project.standing,
        "iteration": project.round,
        "finished_phases": tuple(fields.pop("finished_phases") or ()),
        "units": tuple(fields.pop("units") or ()),
    }
    return {"project": fields.pop("id"), **fields, **lists, **standing}
