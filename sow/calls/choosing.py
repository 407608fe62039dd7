"""Which executor of a role's list a call gets: the first that nothing stands in the way of.

Owns what a call looks at: whether the program is installed, and whether another job waits for a
usage limit of the executor; and what a resume does whose executor is gone from the configuration.
What is found out later is the worker's (`worker.next_executor`).
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from sow.attempts.fallback import first_free, took_place
from sow.calls.caller import Caller
from sow.calls.features import admitted
from sow.calls.request import Request
from sow.clock import format_time
from sow.config.configuration import Configuration
from sow.errors import ExecutorError, SowError
from sow.executors.base import Executor
from sow.executors.executor_errors import ExecutorBinaryNotFound
from sow.executors.registry import make_executor
from sow.executors.session import type_of_maker
from sow.jobs.database import Database
from sow.jobs.usage_limits import limited_until
from sow.schema.causes import Cause
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType
from sow.schema.job import Job
from sow.schema.job_terms import Fallback, LeftExecutor, NextExecutor, with_fallback
from sow.schema.task import SessionFacts


class NoneInstalled(ExecutorError):
    """None of a role's executors has its program on PATH."""

    def __init__(self, role: str, errors: Sequence[ExecutorBinaryNotFound]) -> None:
        each = ", ".join(f"{error.executor} ({error.message})" for error in errors)
        super().__init__(f"none of the executors of {role} can run: {each}", hint=errors[-1].hint)


class MakerIsGone(ExecutorError):
    """The configuration no longer has the executor that made a session."""

    def __init__(self, name: str, request: Request) -> None:
        task = request.task_id
        super().__init__(
            f"unknown executor: {name}, which made the session of task {task}",
            hint=f"Define it again in your configuration. Or begin a new session: `sow agent spawn"
            f" {task} --fresh`. With `agents.fallback_resume: handover` a resume hands the work"
            " over to the executor that the role has now.",
        )


class MakerHasChanged(ExecutorError):
    """The configuration gives the name of the executor that made a session to one of another type.

    Its CLI cannot know the session: it would begin another conversation, or fail.
    """

    def __init__(self, name: str, made_by: str, now: str, request: Request) -> None:
        task = request.task_id
        key = f"agents.executors.{name}.type"
        super().__init__(
            f"executor {name} is of type {now} now; the session of task {task} was made by type"
            f" {made_by}",
            hint=f"To go on with the session, set {key}: {made_by} again (`sow config edit`). Or"
            f" begin a new one: `sow agent spawn {task} --fresh`. With"
            " `agents.fallback_resume: handover` a resume hands the work over to the executor that"
            " the role has now.",
        )


class Choice(Struct, frozen=True):
    """Who does a job, and who takes its place."""

    executor: ExecutorConfig
    fallback: Fallback
    notes: tuple[str, ...]
    """What the caller should know, a sentence each."""


def choose(
    caller: Caller,
    database: Database | None,
    role: str,
    executors: Sequence[ExecutorConfig],
    *,
    hands_over: bool,
    may_travel: bool = False,
) -> Choice:
    """Return which of a role's executors begins a task. Raises NoneInstalled.

    `may_travel`: another host of a shared queue may run the job.
    """
    gone = [_obstacle(caller, database, executor, may_travel) for executor in executors]
    index = first_free([left.cause if left is not None else None for left, _ in gone])
    if index is None:
        raise NoneInstalled(role, [error for _, error in gone if error is not None])
    left = [obstacle for obstacle, _ in gone[:index] if obstacle is not None]
    behind = [executors[number] for number, each in enumerate(left) if each.until is not None]
    following = [NextExecutor(executor=each) for each in (*executors[index + 1 :], *behind)]
    chosen = executors[index]
    return Choice(
        executor=chosen,
        fallback=Fallback(next=tuple(following), left=tuple(left), hands_over=hands_over),
        notes=tuple(took_place(each, chosen.name) for each in left),
    )


def stand_in_for(
    config: Configuration, request: Request, session: SessionFacts, role: str
) -> tuple[Executor, tuple[str, ...]]:
    """Return what a job's record has for an executor that made a session and is configured no more.

    A worker finds no executor of that name and type, and hands the session over as if its program
    were missing. Till then everything can be asked of it: what the others can do counts. Also
    returns a note. Raises MakerIsGone and MakerHasChanged unless the session may be handed over.
    """
    name = session.executor
    own = config.executors.get(name)
    made_by = type_of_maker(session)
    names = config.bound(role)
    is_known = own is None or made_by in tuple(ExecutorType)
    if not (config.hands_over and names and is_known) or request.kind.is_interactive:
        if own is None:
            raise MakerIsGone(name, request)
        raise MakerHasChanged(name, str(made_by), own.type, request)
    others = " or ".join(names)
    how = "is no longer configured" if own is None else f"is of type {own.type} now"
    note = f"{name} made this session and {how}: {others} takes it over"
    kind = ExecutorType(made_by) if made_by in tuple(ExecutorType) else ExecutorType.CLAUDE
    return make_executor(ExecutorConfig(name=name, type=kind, resume=(name,))), (note,)


def _obstacle(
    caller: Caller, database: Database | None, executor: ExecutorConfig, may_travel: bool
) -> tuple[LeftExecutor | None, ExecutorBinaryNotFound | None]:
    """Return what stands in an executor's way; with the error where its program is missing."""
    try:
        caller.refuse_missing(database, make_executor(executor), may_travel=may_travel)
    except ExecutorBinaryNotFound as error:
        words = error.message
        return LeftExecutor(name=executor.name, cause=Cause.MISSING_BINARY, reason=words), error
    until = None
    if database is not None:
        until = limited_until(database, executor.name, now=caller.now())
    if until is None:
        return None, None
    reason = f"another job has met it; it lasts until {format_time(until)}"
    cause = Cause.RATE_LIMITED
    return LeftExecutor(name=executor.name, cause=cause, reason=reason, until=until), None


def with_limits(
    database: Database, config: Configuration, request: Request, job: Job, *, now: float
) -> Job:
    """Return a job whose next executors have on record what limits each of them.

    One that may not run under what limits the job is left out.
    """
    others = job.fallback
    if not others.next:
        return job
    kept = []
    for following in others.next:
        try:
            as_its = replace(job, executor=following.executor)
            found = admitted(database, config, request, as_its, now=now)
        except SowError:
            continue
        kept.append(replace(following, limits=found.executors_limits))
    return replace(job, terms=with_fallback(job.terms, replace(others, next=tuple(kept))))
