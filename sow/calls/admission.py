"""Which calls a task's status allows: the contract's table, in one place.

Pure: a task, an executor and a request come in, a refusal comes out or
nothing. Whether another job of the task lives is `placement`'s to ask first.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from msgspec import UNSET

from sow.errors import StateError
from sow.executors.base import Executor
from sow.executors.executor_errors import ResumptionNotSupported, SessionMissing
from sow.schema.task import Task, TaskStatus

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
        TaskStatus.PENDING: "Nobody has begun it: `sow agent spawn {id}`.",
        TaskStatus.IN_PROGRESS: "Its agent is at work: `sow agent wait {id}` waits for it.",
        TaskStatus.NEEDS_REVIEW: "Its work waits for a verdict: `sow agent review {id}`. To say"
        ' more to its agent: `sow agent resume {id} "…"`.',
        TaskStatus.FAILED: 'To say what its agent should do now: `sow agent resume {id} "…"`.',
        TaskStatus.COMPLETED: "`sow task reopen {id}` makes it pending again.",
        TaskStatus.ABANDONED: "`sow task reopen {id}` makes it pending again.",
    }

    def __init__(self, task: Task, *, has_job: bool = False) -> None:
        instead = self.INSTEAD[task.status]
        if task.status is TaskStatus.IN_PROGRESS and not has_job:
            words = "spawn {id}" if not task.session_started else 'resume {id} "Go on."'
            instead = f"Nobody is at work on it: `sow agent {words}` goes on."
        super().__init__(
            f"task {task.id} is {task.status}: it asks nothing, and takes no answer",
            hint=instead.format(id=task.id),
        )


class UnmetDependencies(StateError):
    """The task waits for others."""

    def __init__(self, task_id: str, unmet: Sequence[Task]) -> None:
        names = ", ".join(f"{task.id} ({task.status})" for task in unmet)
        super().__init__(
            f"task {task_id} depends on tasks that are not completed: {names}",
            hint="Complete them first; --when-ready queues it until they are, --ignore-deps runs it"
            " now. `sow task list` shows what each task waits for.",
        )
        self.unmet = tuple(task.id for task in unmet)


def admit_spawn(
    task: Task, agent: str, executor: Executor, *, fresh: bool, reassign: bool = False
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
                hint=f"As the task says: `sow agent spawn {task.id}`. To give it to {agent}: "
                f"`sow agent spawn {agent} {task.id}{options}`.",
            )
    if task.status is TaskStatus.PENDING or fresh:
        return
    if task.session_started and not _always_respawns(task, executor):
        raise RefusedCall(
            task,
            "spawned, for its session has started",
            f'Resume it: `sow agent resume {task.id} "…"`. '
            "To start over with a new session, spawn with --fresh.",
        )


def _always_respawns(task: Task, executor: Executor) -> bool:
    """Whether nothing is lost by another spawn: no session that anybody could resume."""
    made_by_another = task.session is not UNSET and task.session.executor != executor.name
    return not executor.supports_resumption and not made_by_another


def admit_answer(task: Task, executor: Executor) -> None:
    """Refuse an answer to a task that asks nothing, or that cannot be resumed.

    Raises NothingAsked, and what `admit_resume` raises.
    """
    if task.status is not TaskStatus.PAUSED:
        raise NothingAsked(task)
    admit_resume(task, executor)


def admit_resume(task: Task, executor: Executor) -> None:
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
        raise UnmetDependencies(task.id, unmet)
