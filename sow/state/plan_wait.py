"""Which tasks wait for their project's plan, and which phases that waits for. Pure."""

from collections.abc import Sequence

from msgspec import UNSET

from sow.lifecycle.stages import PEOPLES_PHASES, ProjectType, waits_for_plan
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


def open_phases(project: Project, tasks: Sequence[Task]) -> tuple[str, ...]:
    """Return the phases led by people that are not finished, or have got tasks since."""
    if project.kind is not ProjectType.STANDARD:
        return ()
    finished = [] if project.finished_phases is UNSET else project.finished_phases
    at_work = {task.phase for task in tasks if task.status not in ENDED}
    led = [phase for phase in project.phases if phase in PEOPLES_PHASES]
    return tuple(phase for phase in led if phase not in finished or phase in at_work)
