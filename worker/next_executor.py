"""A job that goes on with the next executor of its role, because its own cannot.

Owns what a worker sees before an attempt (a missing program, an executor that the user has removed,
a CLI that makes no session, a usage limit that others have met) and the writes: the task loses its
session, and in the commit that gives the lease back the job's record has the next executor. So the
queue takes it under that executor's limits. A begun session goes on the job's record before, and is
put back where a worker has died between the two. So one that dies at any moment has lost nothing.
What follows an attempt that has ended is decided in `worker.next_step`, by the same table
(`sow.attempts.fallback`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from sow.attempts.fallback import (
    RESET_MARGIN_SECONDS,
    Target,
    Way,
    moved,
    since_left,
    way_of,
)
from sow.attempts.fallback_entry import log_moves
from sow.attempts.own_executor import ExecutorChanged
from sow.attempts.session_command import SessionNotMade
from sow.clock import format_time
from sow.errors import SowError
from sow.executors.base import Observation, Verdict
from sow.executors.executor_errors import ExecutorBinaryNotFound
from sow.executors.registry import make_executor
from sow.ids import TaskId
from sow.jobs import jobs, leases
from sow.schema.causes import Cause
from sow.schema.job import Attempt, Job, JobState, Lease
from sow.schema.job_terms import LeavingSession, with_fallback
from sow.schema.kinds import kind_of
from sow.schema.task import Task
from sow.state import transitions
from sow.state.tasks import find_task, read_task
from worker.context import WorkerContext, tell
from worker.limits_met import limit_of, limits_of_next, next_target
from worker.task_state import change_under_lease, session_fields_of


@dataclass(frozen=True)
class Move:
    """What keeps a job's executor from its next attempt, and how another one goes on."""

    way: Way
    verdict: Verdict
    attempt: int
    """The number of the job's last attempt; 0 where it has none."""
    target: Target


def move_by_limit(context: WorkerContext, job: Job, history: Sequence[Attempt]) -> Move | None:
    """Return how a job goes on that is about to begin with an executor whose limit others have met.

    None where it begins: no limit is known, or each of the next executors has met its own.
    """
    if not job.fallback.next or since_left(job, history):
        return None
    until = limit_of(context, job, job.executor_name)
    if until is None or all(limits_of_next(context, job)):
        return None
    words = f"another job has met it; it lasts until {format_time(until)}"
    verdict = Verdict(Cause.RATE_LIMITED, words, resets_at=until)
    return _move(context, job, history, verdict)


def move_by_error(
    context: WorkerContext, job: Job, history: Sequence[Attempt], error: SowError
) -> Move | None:
    """Return how a job goes on whose attempt could not be started; None where nobody takes over."""
    match error:
        case ExecutorBinaryNotFound():
            return _move(context, job, history, Verdict(Cause.MISSING_BINARY, error.message))
        case ExecutorChanged():
            return _move(context, job, history, Verdict(Cause.CONFIGURATION, error.message))
        case SessionNotMade():
            executor = make_executor(job.agents_executor)
            verdict = executor.classify(error.ending, Observation())
            return _move(context, job, history, verdict)
        case _:
            return None


def _move(
    context: WorkerContext, job: Job, history: Sequence[Attempt], verdict: Verdict
) -> Move | None:
    way = way_of(job, verdict.cause, history)
    if way is Way.STAY:
        return None
    target = next_target(context, job, verdict)
    number = history[-1].number if history else 0
    return None if target is None else Move(way, verdict, number, target)


def move_on(context: WorkerContext, job: Job, lease: Lease, move: Move) -> None:
    """Queue a job again that goes on with its next executor. Raises Fenced, EndIsAsked."""
    now = context.now()
    cause, reason = move.verdict.cause, move.verdict.reason
    until = move.target.until

    def change(task: Task) -> Mapping[str, Any]:
        leases.refuse_if_asked(context.database, job.id)
        log_move(context, job, changes)
        return without_session(job, task)

    def record(_task: Task) -> None:
        leases.requeue(
            context.database,
            lease,
            state=JobState.QUEUED if until is None else JobState.PARKED,
            retry_at=now if until is None else until + RESET_MARGIN_SECONDS,
            now=now,
            cause=cause,
            reason=reason,
            **changes,
        )

    session = None
    if move.way is Way.HAND_OVER and kind_of(job).makes_work:
        session = _note_leaving(context, job, lease)
    number, place = move.attempt, move.target.place
    changes = moved(job, move.way, move.verdict, attempt=number, session=session, place=place)
    change_under_lease(context, job, lease, change, record)
    tell(job, changes["warnings"][-1])


def _note_leaving(context: WorkerContext, job: Job, lease: Lease) -> str | None:
    """Put the session that is to be handed over on the job's record; return it. Raises Fenced."""
    task = read_task(context.workspace, TaskId(job.task_id))
    if task.session_id is UNSET:
        return None
    dialect = task.session.dialect if task.session is not UNSET else UNSET
    kind = task.session.type if task.session is not UNSET else UNSET
    leaving = LeavingSession(
        id=task.session_id,
        dialect=None if dialect is UNSET else dialect,
        type=None if kind is UNSET else kind,
    )
    with leases.under(context.database, lease):
        _record_leaving(context, job, leaving)
    return leaving.id


def _record_leaving(context: WorkerContext, job: Job, leaving: LeavingSession | None) -> None:
    terms = with_fallback(job.terms, replace(job.fallback, leaving=leaving))
    jobs.change_job(context.database, job.id, terms=terms)


def put_session_back(context: WorkerContext, job: Job, lease: Lease) -> None:
    """Put a session back that a worker took from the task for a move which it did not live to make.

    Whether the move is still to be made is asked again. Raises Fenced.
    """
    leaving = job.fallback.leaving
    if leaving is None:
        return

    def change(task: Task) -> Mapping[str, Any]:
        if task.session_id is not UNSET:
            return {}
        dialect = UNSET if leaving.dialect is None else leaving.dialect
        # The job's executor may stand for one that is gone, of a type that nobody knows.
        kind = UNSET if leaving.type is None else leaving.type
        return session_fields_of(task, job, leaving.id, started=True, dialect=dialect, kind=kind)

    change_under_lease(context, job, lease, change, lambda _: _record_leaving(context, job, None))


def log_move(context: WorkerContext, job: Job, changes: Mapping[str, Any]) -> None:
    """Say in the task's log that another executor takes over, as the job's record is to say it."""
    left = changes["terms"].fallback.left
    folder = find_task(context.workspace, TaskId(job.task_id)).folder
    log_moves(folder, job, left[-1], len(left) - 1, changes["executor_name"], context.now())


def without_session(
    job: Job, task: Task, changes: Mapping[str, Any] = MappingProxyType({})
) -> Mapping[str, Any]:
    """Return changes of a task, and with them what takes the session of a left executor from it.

    That session may stand in `changes` alone: a run may tell of it and fail within a moment.
    """
    if not kind_of(job).makes_work or task.status in transitions.TERMINAL:
        return changes
    others = {name: value for name, value in changes.items() if name not in transitions.OF_SESSION}
    return {**others, **transitions.clear_session(task)}
