"""Which tasks wait for their project's plan: it is about them, and they have not begun. Pure."""

from sow.lifecycle.stages import waits_for_plan
from sow.schema.project import Project
from sow.schema.task import Task, TaskStatus

ENDED = (TaskStatus.COMPLETED, TaskStatus.ABANDONED)


def has_not_begun(task: Task) -> bool:
    """Whether a call would begin a task's work, rather than go on with it."""
    is_begun = task.session_started and task.status is not TaskStatus.PENDING
    return task.status not in ENDED and not is_begun


def waits(project: Project, task: Task) -> bool:
    """Whether a task may not begin before the project's plan is approved and begun."""
    return waits_for_plan(project.kind, project.standing, task.phase) and has_not_begun(task)
