"""Placing a job: settle what an earlier call has left, then let the kind of the job place it.

A kind of job is one module of this package, named by its row in `schema.kinds`; what a call asks
it is `CallKind`. Owns what comes first whatever the kind, and the short wait where the last job of
the task has reported and is only ending: between an agent's `sow task set status needs_review` and
the end of its process lie moments in which a resume would be refused for a job that is over in all
but name. Waiting for the outcome is `wait`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib import import_module

from sow.calls.caller import Caller
from sow.calls.idempotency import TaskHasJob, has_reported
from sow.calls.job_end import finish, give_back, is_abandoned, is_deserted, release
from sow.calls.request import Placed, Request
from sow.calls.wait import Progress, Waiter
from sow.clock import format_duration
from sow.config.configuration import Configuration
from sow.errors import StateError
from sow.ids import JobId, ProjectId, TaskId
from sow.jobs import jobs
from sow.jobs.database import Database
from sow.jobs.jobs import TaskIsTaken
from sow.schema.task import TaskStatus
from sow.state.kept.guard import restore
from sow.state.kept.store import kept_at
from sow.state.projects import read_project
from sow.state.tasks import read_task

ENDING_SECONDS = 30.0


class CallKind(ABC):
    """The jobs of one kind, for a call."""

    @abstractmethod
    def admit(
        self, caller: Caller, database: Database | None, config: Configuration, request: Request
    ) -> None:
        """Raise what a request would be refused with; `database` is None where there is no queue.

        Changes nothing.
        """

    @abstractmethod
    def place(
        self,
        caller: Caller,
        database: Database,
        config: Configuration,
        request: Request,
        waiter: Waiter | None,
    ) -> Placed:
        """Put a request's job into the queue, or find the one that the same call put there.

        `waiter` waits for a new job from its first moment on. Raises TaskIsTaken where another call
        was first, and SowError; nothing is left behind then.
        """


class AgentIsEnding(StateError):
    """The task's last agent has reported, but its program is still there."""

    def __init__(self, task_id: TaskId, job_id: JobId, status: TaskStatus, waited: float) -> None:
        super().__init__(
            f"no job was queued for task {task_id}: the agent of job {job_id} has set the status"
            f" {status}, but its program still runs after {format_duration(waited)}",
            hint=f"`sow agent wait {task_id}` waits until it ends. Then run the same command"
            " again.",
        )


def place_when_settled(
    caller: Caller,
    database: Database,
    config: Configuration,
    request: Request,
    waiter: Waiter | None = None,
    *,
    seconds: float | None = None,
    on_tick: Callable[[Progress], None] = lambda _: None,
) -> Placed:
    """Place a request; a resume first lets a job end that has already reported.

    That takes no longer than `seconds`, which the whole call may take, and
    `on_tick` is told of it. Raises AgentIsEnding, and what `place` raises.
    """
    patience = ENDING_SECONDS if seconds is None else min(ENDING_SECONDS, seconds)
    try:
        return place(caller, database, config, request, waiter)
    except TaskHasJob as refusal:
        if not request.continues_session:
            raise
        status = read_task(caller.workspace, request.task_id).status
        if not has_reported(refusal.job, status):
            raise
        with Waiter(caller, database, passing=True) as passing:
            passing.begin([refusal.job.id])
            still_there = passing.wait(seconds=patience, on_tick=on_tick)
        if still_there:
            raise AgentIsEnding(request.task_id, refusal.job.id, status, patience) from None
    return place(caller, database, config, request, waiter)


def place(
    caller: Caller,
    database: Database,
    config: Configuration,
    request: Request,
    waiter: Waiter | None = None,
) -> Placed:
    """Put a request's job into the queue, or find the job that the same call put there.

    `waiter` waits for a new job from its first moment on; without one, nobody
    is owed the outcome. Raises StateError, ExecutorError, UsageError; nothing
    is left behind then.
    """
    _keep_what_stands(caller, database)
    finish_abandoned(caller, database, request.task_id)
    try:
        return call_kind(request).place(caller, database, config, request, waiter)
    except TaskIsTaken:  # another call was first: attach to its job, or be refused
        return place(caller, database, config, request, waiter)


def _keep_what_stands(caller: Caller, database: Database) -> None:
    """Take the files of `.sow/project` as they are for what the user means, if no job lives.

    The copies in git's folder follow them. While a job lives it is the other way round: what git
    has taken is put back. This compares every file of the project, so only a call's first task
    does it: with the second one a job lives, and each reader compares what it reads.
    """
    kept = kept_at(caller.workspace.root)
    if kept is not None and jobs.any_live_job(database, ProjectId(kept.project_id)) is None:
        restore(kept)


def call_kind(request: Request) -> CallKind:
    """Return what answers for the kind of job that a request asks for.

    Its module is imported only now: most calls place one kind, and some kinds look into git.
    """
    kind: CallKind = import_module(f"sow.calls.kinds.{request.kind.package}").KIND
    return kind


def finish_abandoned(caller: Caller, database: Database, task_id: TaskId) -> None:
    """Settle what an earlier command of the task left half done when it died.

    A job half placed, a session left open, a task not given back. It comes
    first, because it may change the task's status.
    """
    project_id = ProjectId(read_project(caller.workspace).id)
    last = jobs.last_job(database, project_id, task_id)
    if last is None:
        return
    if is_abandoned(caller.workspace, last):
        finish(caller.workspace, database, last, now=caller.now())
    elif is_deserted(caller.workspace, database, last):
        release(caller.workspace, database, last, code=None, now=caller.now())
    elif last.owes_task:
        give_back(caller.workspace, database, last, now=caller.now())
