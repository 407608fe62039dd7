"""The gate of a plan: no task that the plan is about begins before it is approved and begun.

Owns which calls are refused for that, and the command that leads on. A task that has
begun goes on whatever the project's state, and so does a job that was placed before.
"""

from collections.abc import Callable, Sequence

from sow.errors import StateError
from sow.lifecycle.stages import waits_for_plan
from sow.paths import Workspace
from sow.schema.project import Project
from sow.schema.task import Task
from sow.state.plan_wait import open_phases, waits
from sow.state.projects import read_project


class BeforeApproval(StateError):
    """Tasks are to begin that the project's plan is about, and the plan has not begun."""

    def __init__(
        self,
        task_ids: Sequence[str],
        project: Project,
        phases: Sequence[str],
        *,
        is_approved: bool,
        override: str,
    ) -> None:
        tasks = f"task{'s' if len(task_ids) > 1 else ''} {', '.join(task_ids)}"
        plan = "approved, but not started" if is_approved else "not approved in its current form"
        super().__init__(
            f"{tasks} cannot begin: the project is {project.standing}, and its plan is {plan}",
            hint=f"{_way_on(phases, is_approved=is_approved)} Before that, only tasks that"
            " prepare the plan can start (those of a phase such as discovery). A person at"
            f" a terminal can start it anyway: `{override} {' '.join(task_ids)}"
            " --before-approval`.",
        )
        self.task_ids = tuple(task_ids)


def _way_on(phases: Sequence[str], *, is_approved: bool) -> str:
    if phases:
        return f"First finish the phase {phases[0]}; `sow next` shows how."
    if is_approved:
        return "Start the plan: `sow advance`."
    return "Approve and start the plan: `sow approve plan && sow advance`."


def refuse_before_approval(
    workspace: Workspace, tasks: Callable[[], Sequence[Task]], *, override: str
) -> None:
    """Raise BeforeApproval where some tasks have to wait for the project's plan.

    `override` is the command that begins them all the same, up to its tasks.
    """
    project = read_project(workspace)
    if waits_for_plan(project.kind, project.standing, ""):
        waiting = [task.id for task in tasks() if waits(project, task)]
        if waiting:
            raise refusal(workspace, waiting, override=override)


def refusal(
    workspace: Workspace, task_ids: Sequence[str], *, override: str = "sow agent spawn"
) -> BeforeApproval:
    """Return the error that refuses to begin some tasks, with the command that leads on."""
    # It reads every task; a call that is not refused has no need of it.
    from sow.state.lifecycle import counted_tasks, is_plan_approved

    project, tasks = read_project(workspace), counted_tasks(workspace)
    is_approved = is_plan_approved(workspace, project, tasks)
    phases = open_phases(project, tasks)
    return BeforeApproval(task_ids, project, phases, is_approved=is_approved, override=override)
