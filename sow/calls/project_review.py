"""The review of the whole project, as an ordinary task of a reviewing role.

Owns that task: it lies in the phase `project`, which no guard counts, and
names the work that it is about. So a review of the whole survives, is waited
for, resumed and cancelled like every other job of an agent.
"""

from msgspec import UNSET

from sow.errors import StateError
from sow.lifecycle.stages import WHOLE_PHASE, ProjectType
from sow.paths import Workspace
from sow.schema.project import Project
from sow.schema.task import REVIEW_OF, Task, TaskStatus
from sow.state.authors import Author
from sow.state.projects import read_project
from sow.state.tasks import add_task, change_task, list_tasks
from sow.state.transitions import enter

JUDGED = ("reviewing", "finalizing")
"""The states of a standard project in which the whole is judged."""
REFUSED = "review_refused"
"""The key that says that a verdict was refused, because the work had changed meanwhile."""

DESCRIPTION = """# Review of the whole, iteration {iteration}

Judge {name} as a whole, as it lies in this folder: whether its tasks together meet the goal,
whether they fit each other, and what is missing. Each task was judged alone before; look at what
lies between them.
{goal}
1. `sow project status`, `sow task list` and `sow log` tell what was planned and done;
   `sow input list` and `sow output list` name the documents.
2. Read the change as a whole, and run what shows that it works.
3. End with one verdict, as your prompt says. For each finding, say where it is, what is wrong and
   what would be right. Change nothing of the work itself.
"""


def refuse_unjudged(project: Project) -> None:
    """Raise StateError unless the project stands where the whole is judged."""
    if project.kind is not ProjectType.STANDARD or project.standing not in JUDGED:
        raise StateError(
            f"the project is {project.standing}, so there is nothing to review now",
            hint="`sow advance --list` shows what comes next; a standard project is reviewed"
            " after all its tasks have ended.",
        )


def review_task(workspace: Workspace, work: str, agent: str, *, now: float) -> Task:
    """Return the task of the review of this work by that role; it is added where there is none."""
    project = read_project(workspace)
    refuse_unjudged(project)
    mark = f"{project.round} {agent} {work}"
    for task in list_tasks(workspace):
        is_open = task.status not in (TaskStatus.COMPLETED, TaskStatus.ABANDONED)
        if task.judges_whole and task.metadata[REVIEW_OF] == mark and is_open:
            return task
    return add_task(
        workspace,
        name=f"Review of the whole, iteration {project.round}",
        agent=agent,
        now=now,
        phase=WHOLE_PHASE,
        new_phase=True,
        description=_description(project),
        metadata={REVIEW_OF: mark},
    )


def work_under_review(task: Task) -> str:
    """Return the work that a review is about."""
    return str(task.metadata[REVIEW_OF]).split(" ")[-1]


def refuse_changed(workspace: Workspace, task: Task, work: str, by: Author, *, now: float) -> None:
    """Refuse a reviewer's verdict on other work than it began with.

    The first time it may undo what it has changed itself; the second time sow ends the review.
    Raises StateError.
    """
    if work_under_review(task) == work:
        return
    if REFUSED not in task.metadata:
        change_task(workspace, task.id, lambda _: {f"metadata.{REFUSED}": True}, now=now)
        raise StateError(
            "the work has changed since this review of the project began",
            hint="Undo what you have changed yourself (`git status` shows it), then give your"
            " verdict again. If others have changed the work, sow then ends this review.",
        )
    change_task(
        workspace,
        task.id,
        lambda task: enter(task, TaskStatus.FAILED, now=now, keep_session=True),
        now=now,
        by=by,
    )
    raise StateError(
        "the work still differs from the work at the start of this project review, so sow has"
        " ended the review without a verdict",
        hint="You have nothing more to do: stop now. sow has the project reviewed again.",
    )


def _description(project: Project) -> str:
    goal = f"\nIts goal: {project.description}\n" if project.description is not UNSET else ""
    return DESCRIPTION.format(iteration=project.round, name=project.name, goal=goal)
