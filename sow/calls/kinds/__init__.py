"""Placing a job: settle what an earlier call has left, then let the kind of the job place it.

A kind of job is one module of this package, named by its row in `schema.kinds`; what a call asks
it is `CallKind`. Owns what comes first whatever the kind, and the short wait where the last job of
the task has reported and is only ending: between an agent's `sow task set status needs_review` and
the end of its process lie moments in which a resume would be refused for a job that is over in all
but name. Waiting for the outcome is `wait`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module

from sow.calls.caller import Caller
from sow.calls.idempotency import TaskHasJob, has_reported
from sow.calls.job_end import (
    PATIENCE_SECONDS,
    finish,
    give_back,
    is_abandoned,
    is_deserted,
    release,
)
from sow.calls.request import Known, Placed, Request, Resolved
from sow.calls.wait import Progress, Waiter
from sow.clock import format_duration
from sow.config.configuration import Configuration
from sow.errors import SowError, StateError
from sow.ids import JobId, ProjectId, TaskId
from sow.jobs import jobs, workers
from sow.jobs.database import Database
from sow.jobs.jobs import TaskIsTaken
from sow.jobs.unrecorded_agents import StrayLooks
from sow.jobs.waiters import Recipient
from sow.schema.task import TaskStatus
from sow.state.kept.guard import restore
from sow.state.kept.store import kept_at, project_id_at
from sow.state.projects import read_project
from sow.state.tasks import read_task

ENDING_SECONDS = 30.0
MOST_TOGETHER = 16
"""How many requests of a call are placed together: what a kill leaves half done is no more."""


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
        waiter: Recipient | None,
    ) -> Placed:
        """Put a request's job into the queue, or find the one that the same call put there.

        `waiter` is to learn how a new job ends, from its first moment on. Raises TaskIsTaken
        where another call was first, and SowError; nothing is left behind then.
        """

    def admit_to_group(
        self,
        caller: Caller,
        database: Database,
        config: Configuration,
        request: Request,
        known: Known,
    ) -> Resolved | None:
        """Return a request that `place_together` takes; None where it has to be placed alone."""
        del caller, database, config, request, known
        return None

    def place_together(
        self,
        caller: Caller,
        database: Database,
        config: Configuration,
        admitted: Sequence[Resolved],
        waiter: Recipient | None,
        known: Known,
    ) -> list[Placed | SowError]:
        """Place requests that `admit_to_group` has returned, and tell what became of each.

        Raises TaskIsTaken and SowError, with nothing left behind, where they have to be placed
        one by one.
        """
        raise NotImplementedError


class AgentIsEnding(StateError):
    """The task's last agent has reported, but its program is still there."""

    def __init__(self, task_id: TaskId, job_id: JobId, status: TaskStatus, waited: float) -> None:
        super().__init__(
            f"no job was queued for task {task_id}: the agent of job {job_id} has set the status"
            f" {status}, but its program still runs after {format_duration(waited)}",
            hint=f"`sow agent wait {task_id}` waits until it ends. Then run the same command"
            " again.",
        )


def place_in_order(
    caller: Caller,
    database: Database,
    config: Configuration,
    requests: Sequence[Request],
    waiter: Recipient | None,
    *,
    time_left: Callable[[], float | None],
    on_tick: Callable[[Progress], None],
) -> Iterator[tuple[Request, Placed | SowError]]:
    """Place the requests of a call, and yield what became of each, in their order.

    Those that can be are placed in groups, which take each step together. The first groups are
    small, so that the first agents start as early as that of a single request. Workers of an
    older sow leave first: they would take the jobs, and do not know all that these ask for.
    """
    workers.let_older_leave(database, caller.workspace, now=caller.now())

    def alone(request: Request) -> Placed | SowError:
        try:
            return place_when_settled(
                caller, database, config, request, waiter, seconds=time_left(), on_tick=on_tick
            )
        except SowError as error:
            return error

    def together(
        group: Sequence[Resolved], known: Known
    ) -> Iterator[tuple[Request, Placed | SowError]]:
        asked = [each.request for each in group]
        try:
            kind = call_kind(asked[0])
            placed = kind.place_together(caller, database, config, group, waiter, known)
        except (TaskIsTaken, SowError):  # one of them is refused: alone, each has its own answer
            yield from ((request, alone(request)) for request in asked)
        else:
            yield from zip(asked, placed, strict=True)

    group: list[Resolved] = []
    known: Known | None = None
    strays = StrayLooks()
    size = 1
    for number, request in enumerate(requests):
        is_alike = len(requests) > 1 and request.kind.package == requests[0].kind.package
        if is_alike and not group:
            known = _look(caller, database, requests[number : number + size], strays)
        admitted = None
        if is_alike and known is not None:
            admitted = _admit_to_group(caller, database, config, request, known)
        if admitted is not None:
            group.append(admitted)
        if group and known is not None and (admitted is None or len(group) == size):
            yield from together(group, known)
            group, size = [], min(2 * size, MOST_TOGETHER)
        if admitted is None:
            yield request, alone(request)
    if group and known is not None:
        yield from together(group, known)


def _look(
    caller: Caller, database: Database, requests: Sequence[Request], strays: StrayLooks
) -> Known | None:
    """Return what is known for the next requests; None where `place` has to tell more."""
    try:
        _keep_what_stands(caller, database)
        kept = kept_at(caller.workspace.root)
        project = read_project(caller.workspace, kept)
        task_ids = [request.task_id for request in requests]
        with_jobs = jobs.tasks_with_jobs(database, ProjectId(project.id), task_ids)
    except SowError:
        return None
    return Known(project, kept, with_jobs, strays)


def _admit_to_group(
    caller: Caller, database: Database, config: Configuration, request: Request, known: Known
) -> Resolved | None:
    """Return a request that may be placed with others; None where `place` has to tell more."""
    try:
        if request.task_id in known.with_jobs:
            finish_abandoned(caller, database, request.task_id)
        return call_kind(request).admit_to_group(caller, database, config, request, known)
    except SowError:
        return None


def place_when_settled(
    caller: Caller,
    database: Database,
    config: Configuration,
    request: Request,
    waiter: Recipient | None = None,
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
    waiter: Recipient | None = None,
) -> Placed:
    """Put a request's job into the queue, or find the job that the same call put there.

    `waiter` is to learn how a new job ends, from its first moment on; without one, nobody is.
    Raises StateError, ExecutorError, UsageError; nothing is left behind then.
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
    root = caller.workspace.root
    project_id = project_id_at(root)
    if project_id and jobs.any_live_job(database, ProjectId(project_id)) is not None:
        return
    kept = kept_at(root)
    if kept is not None and jobs.any_live_job(database, ProjectId(kept.project_id)) is None:
        restore(kept)


def call_kind(request: Request) -> CallKind:
    """Return what answers for the kind of job that a request asks for.

    Its module is imported only now: most calls place one kind, and some kinds look into git.
    """
    kind: CallKind = import_module(f"sow.calls.kinds.{request.kind.package}").KIND
    return kind


def _is_of_another_host(database: Database, job_id: JobId) -> bool:
    # Few queues are shared.
    from sow.jobs.hosts import is_queued_elsewhere

    return is_queued_elsewhere(database, job_id)


def finish_abandoned(caller: Caller, database: Database, task_id: TaskId) -> None:
    """Settle what an earlier command of the task left half done when it died.

    A job half placed, a session left open, a task not given back. It comes
    first, because it may change the task's status.
    """
    project_id = ProjectId(read_project(caller.workspace).id)
    last = jobs.last_job(database, project_id, task_id)
    if last is None or (database.is_shared and _is_of_another_host(database, last.id)):
        return
    if is_abandoned(caller.workspace, database, last, now=caller.now()):
        finish(caller.workspace, database, last, now=caller.now())
    elif is_deserted(caller.workspace, database, last):
        release(caller.workspace, database, last, code=None, now=caller.now())
    elif last.owes_task:
        now = caller.now()
        give_back(caller.workspace, database, last, now=now, patience=PATIENCE_SECONDS)
