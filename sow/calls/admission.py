"""Whether a call is allowed: by its task's status (the contract's table), by the plan, the project.

No task that the plan is about begins before that is approved and begun; one that has begun goes on
whatever the project's state. Of a project that has ended, or is about to, nothing more is placed.
Whether the same call was made before, or another job of the task lives, is `idempotency`'s to ask
first. Changes nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from msgspec import UNSET

from sow.calls.caller import Caller
from sow.calls.request import Resolved
from sow.errors import StateError
from sow.executors.executor_errors import ResumptionNotSupported, SessionMissing
from sow.executors.session import is_maker
from sow.faults import passing_fault
from sow.files import NotAFile, read_regular
from sow.ids import ProjectId
from sow.lifecycle.stages import waits_for_plan
from sow.paths import Workspace
from sow.schema.project import Project
from sow.schema.task import Task, TaskStatus
from sow.state.kept.store import project_id_at
from sow.state.plan_wait import has_not_begun, open_phases, waits
from sow.state.projects import read_project
from sow.state.statefiles import STATE_LIMIT
from sow.state.tasks import read_task

if TYPE_CHECKING:
    from sow.executors.base import Executor


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


ENDED = frozenset({TaskStatus.COMPLETED, TaskStatus.ABANDONED})


class RefusedCall(StateError):
    """The task's status does not allow the call."""

    def __init__(self, task: Task, verb: str, hint: str) -> None:
        super().__init__(f"task {task.id} is {task.status}: it cannot be {verb}", hint=hint)
        self.task_id = task.id
        self.status = task.status


class NothingAsked(StateError):
    """An answer was given to a task that asks nothing."""

    INSTEAD: ClassVar[Mapping[TaskStatus, str]] = {
        TaskStatus.PENDING: "It has not been started yet. Start it: `sow agent spawn {id}`.",
        TaskStatus.IN_PROGRESS: "Its agent is at work: `sow agent wait {id}` waits for it.",
        TaskStatus.NEEDS_REVIEW: "Its work waits for a review: `sow agent review {id}` starts"
        " one. To send its agent a message: `sow agent resume {id}"
        ' "…"`.',
        TaskStatus.FAILED: 'Write what its agent should do next: `sow agent resume {id} "…"`.',
        TaskStatus.COMPLETED: "`sow task reopen {id}` makes it pending again.",
        TaskStatus.ABANDONED: "`sow task reopen {id}` makes it pending again.",
    }

    def __init__(self, task: Task, *, has_job: bool = False) -> None:
        instead = self.INSTEAD[task.status]
        if task.status is TaskStatus.IN_PROGRESS and not has_job:
            words = "spawn {id}" if not task.session_started else 'resume {id} "Go on."'
            instead = f"No agent is working on it. Continue it: `sow agent {words}`."
        super().__init__(
            f"task {task.id} is {task.status}: there is no question to answer",
            hint=instead.format(id=task.id),
        )


def admit_spawn(
    task: Task, agent: str, executor: "Executor", *, fresh: bool, reassign: bool = False
) -> None:
    """Refuse a spawn that the table does not allow.

    Raises RefusedCall, StateError.
    """
    if task.status in ENDED:
        raise RefusedCall(task, "spawned", f"`sow task reopen {task.id}` makes it pending again.")
    if agent != task.assigned_agent:
        if task.session_started and not fresh:
            raise StateError(
                f"task {task.id} is assigned to {task.assigned_agent}, whose session has started",
                hint=f'Resume it: `sow agent resume {task.id} "…"`. To start over as {agent}: '
                f"`sow agent spawn {agent} {task.id} --fresh --reassign`.",
            )
        if not reassign:
            options = " --fresh --reassign" if fresh else " --reassign"
            raise StateError(
                f"task {task.id} is for {task.assigned_agent}, not for {agent}",
                hint=f"To start {task.assigned_agent}: `sow agent spawn {task.id}`. To give it"
                f" to {agent}: `sow agent spawn {agent} {task.id}{options}`.",
            )
    if task.status is TaskStatus.PENDING or fresh:
        return
    if task.session_started and not _always_respawns(task, executor):
        asks = task.status is TaskStatus.PAUSED
        go_on = "Answer it: `sow agent answer" if asks else "Resume it: `sow agent resume"
        raise RefusedCall(
            task,
            "spawned, because its session has started",
            f'{go_on} {task.id} "…"`. To start over with a new session, spawn with --fresh.',
        )


def _always_respawns(task: Task, executor: "Executor") -> bool:
    """Whether nothing is lost by another spawn: no session that anybody could resume."""
    made_by_another = task.session is not UNSET and not is_maker(task.session, executor.config)
    return not executor.supports_resumption and not made_by_another


def admit_answer(task: Task, executor: "Executor") -> None:
    """Refuse an answer to a task that asks nothing, or that cannot be resumed.

    Raises NothingAsked, and what `admit_resume` raises.
    """
    if task.status is not TaskStatus.PAUSED:
        raise NothingAsked(task)
    admit_resume(task, executor)


def admit_resume(task: Task, executor: "Executor") -> None:
    """Refuse a resume that the table does not allow.

    Raises ResumptionNotSupported before SessionMissing, then RefusedCall.
    """
    if task.status in ENDED:
        raise RefusedCall(task, "resumed", f"`sow task reopen {task.id}` makes it pending again.")
    if not executor.supports_resumption:
        raise ResumptionNotSupported(executor.name, task.id)
    never_ran = task.status is TaskStatus.PENDING and not task.session_started
    if task.session_id is UNSET or never_ran:
        raise SessionMissing(task.id, task.assigned_agent)


def refuse_unmet(task: Task, others: Sequence[Task]) -> None:
    """Refuse a task whose dependencies (`others`) are not all completed."""
    unmet = [other for other in others if other.status is not TaskStatus.COMPLETED]
    if unmet:
        names = ", ".join(f"{task.id} ({task.status})" for task in unmet)
        raise StateError(
            f"task {task.id} depends on tasks that are not completed: {names}",
            hint="Complete them first. Or add --when-ready: sow starts it when they are"
            " completed. Or add --ignore-deps: sow starts it now. `sow task list` shows"
            " what each task waits for.",
        )


def admit(caller: Caller, resolved: Resolved, task: Task) -> None:
    """Refuse what the status table does not allow; asked again under the task's lock."""
    request = resolved.request
    if resolved.waits_for_plan and not request.before_approval and has_not_begun(task):
        raise refusal(caller.workspace, [task.id])
    if request.answers:
        admit_answer(task, resolved.executor)
        return
    if request.continues_session:
        admit_resume(task, resolved.executor)
        return
    admit_spawn(
        task,
        resolved.agent,
        resolved.executor,
        fresh=request.fresh,
        reassign=request.reassign,
    )
    if not (request.ignore_deps or request.when_ready):
        refuse_unmet(task, [read_task(caller.workspace, other) for other in task.depends_on])


class ProjectIsEnding(StateError):
    """A job is to be placed for a project that is gone, or about to go."""

    def __init__(self) -> None:
        super().__init__(
            "the project has ended or is ending, so sow queues no more jobs for it",
            hint="`sow project list` shows the projects of this repository.",
        )


def refuse_without_project(workspace: Workspace, project_id: ProjectId) -> None:
    """Refuse to place a job of a project that is gone, or about to go. Raises ProjectIsEnding.

    Asked in the transaction that puts the job on record.
    """
    if project_id_at(workspace.root) != project_id:
        raise ProjectIsEnding
    if is_end_recorded(workspace) and read_project(workspace).ending is not UNSET:
        raise ProjectIsEnding


def is_end_recorded(workspace: Workspace) -> bool:
    """Whether the state may say so: cheap, for a worker that looks every few seconds.

    Raises NotAFile where the machine lacks something to tell that now.
    """
    try:
        return b"ending:" in read_regular(workspace.project_state, STATE_LIMIT)
    except FileNotFoundError:
        return False
    except NotAFile as error:
        if passing_fault(error) is not None:
            raise
        return False
