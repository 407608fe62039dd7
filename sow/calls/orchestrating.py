"""The task of an orchestrator that runs without a terminal, and what it means for the others.

Owns that task: an ordinary one of the role `orchestrator`, in the phase
`project`, which no guard counts. There is one at a time. So an orchestrator
survives, is waited for, answered and resumed like every other agent.
"""

from collections.abc import Iterable

from msgspec import UNSET

from sow.calls.request import Request
from sow.errors import StateError
from sow.files import locked_folder, make_folder
from sow.ids import TaskId
from sow.lifecycle.stages import WHOLE_PHASE
from sow.paths import Workspace
from sow.schema.job import Job, Verb
from sow.schema.kinds import kind_of, was_cut_off
from sow.schema.project import Project
from sow.schema.task import Task, TaskStatus
from sow.state.authors import ORCHESTRATOR
from sow.state.projects import read_project
from sow.state.tasks import add_task, list_tasks

DESCRIPTION = """# Orchestrate {name}

{goal}

Lead the project from where it stands to its end:

1. `sow next` prints what to do next, as commands, the most sensible first. Run the first, then ask
   again. What stands in `<…>` is yours to fill in; what follows `#` says why.
2. Where a person has to decide or to approve, log what you need with `sow agent log`, then
   `sow task set status paused`. You are run again with the answer.
3. When `sow next` says so, end the project: `sow project finish`. It is carried out once you have
   ended.
4. Report: log what was reached and what was left, then `sow task set status completed`.
"""
GO_ON = "Continue: `sow next` prints the next command."
ENDED = (TaskStatus.COMPLETED, TaskStatus.ABANDONED)


def _is_by_agent(job: Job) -> bool:
    """Whether an agent does the work of a job that a worker runs, not a person in its session."""
    return kind_of(job).makes_work and kind_of(job).is_leased


def is_orchestrators(task: Task) -> bool:
    """Whether a task is that of an orchestrator of the whole project."""
    return task.phase == WHOLE_PHASE and task.assigned_agent == ORCHESTRATOR


def open_orchestration(tasks: Iterable[Task]) -> Task | None:
    """Return the task of the orchestrator that has not ended, if there is one."""
    found = (task for task in tasks if is_orchestrators(task) and task.status not in ENDED)
    return next(found, None)


def orchestrator_task(workspace: Workspace, goal: str, *, now: float) -> Task:
    """Return the orchestrator's task; it is added where none is open.

    Raises StateError where one is open that was given another goal, and what
    reading the project's state does.
    """
    project = read_project(workspace)
    make_folder(workspace.phases)  # git keeps no empty folder
    with locked_folder(workspace.phases):  # nothing else takes this lock, as adding a task does
        task = open_orchestration(list_tasks(workspace))
        if task is not None:
            if goal and task.metadata.get("goal") != goal:
                raise StateError(
                    f"task {task.id} already orchestrates this project, with another goal",
                    hint=f'To send it a message: `sow agent resume {task.id} "…"`. To start with'
                    f" the new goal, abandon this task first: `sow task abandon {task.id}`.",
                )
            return task
        return add_task(
            workspace,
            name=f"Orchestrate {project.name}",
            agent=ORCHESTRATOR,
            now=now,
            phase=WHOLE_PHASE,
            new_phase=True,
            description=_description(project, goal),
            metadata={"goal": goal} if goal else {},
        )


def _description(project: Project, goal: str) -> str:
    wanted = [goal]
    if project.description is not UNSET and project.description != goal:
        wanted.append(f"The project's goal: {project.description}")
    words = "\n\n".join(filter(None, wanted)) or "The project's tasks and log say what its goal is."
    return DESCRIPTION.format(name=project.name, goal=words)


def request_for(task: Task, last: Job | None, *, is_owed: bool) -> Request:
    """Return the call that has the orchestrator go on, or that finds it at work.

    `last` is the task's newest job; `is_owed` says that its outcome was not
    told to whoever asked. Raises StateError.
    """
    task_id = TaskId(task.id)
    is_news = is_owed and last is not None and last.outcome_status is task.status
    if last is not None and _is_by_agent(last) and (is_news or not last.state.is_final):
        return Request(verb=last.verb, task_id=task_id, prompt=last.prompt, fresh=last.fresh)
    match task.status:
        case TaskStatus.PAUSED if last is None or not was_cut_off(last):
            raise StateError(
                f"task {task.id}, which orchestrates this project, is paused because its agent"
                " asks a question",
                hint=f"`sow task log {task.id}` shows the question. Answer it: `sow agent answer"
                f' {task.id} "…"`.',
            )
        case TaskStatus.NEEDS_REVIEW:
            raise StateError(
                f"task {task.id}, which orchestrates this project, reports that it is done",
                hint=f"`sow task log {task.id}` shows what it did. To complete it: `sow task set"
                f" {task.id} status completed`. To continue it: `sow agent resume {task.id}"
                ' "…"`.',
            )
        case status if status is not TaskStatus.PENDING and task.session_started:
            return Request(verb=Verb.RESUME, task_id=task_id, prompt=GO_ON)
        case _:
            return Request(verb=Verb.SPAWN, task_id=task_id)
