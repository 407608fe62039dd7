"""One call, from its placing to its outcome: place, see to a worker, wait, deliver.

Owns the order of these steps, and which outcomes stay owed where a call is left
in the middle of them. It prints nothing, and it owns no signal and no open file
of its process: a `Listener` is told how the call goes, and whatever a callback
raises ends the call. Its jobs go on then, and their outcomes are owed to it.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, field

from sow.calls.autostart import NoWorker, Staffing
from sow.calls.caller import Caller
from sow.calls.idempotency import OutcomeIsOwed
from sow.calls.kinds import place_in_order
from sow.calls.request import Placed, Request
from sow.calls.wait import Progress, Waiter
from sow.config.configuration import Configuration
from sow.errors import SowError
from sow.ids import JobId, ProjectId, TaskId
from sow.jobs import jobs, waiters
from sow.jobs.database import Database
from sow.jobs.waiters import Recipient
from sow.schema.job import Job
from sow.state.projects import read_project

if TYPE_CHECKING:
    from sow.calls.held_jobs import HeldLook
    from sow.schema.output.outcome import Outcome

LEAVE_SECONDS = 1.0
"""How long a call that goes away waits for others who use the queue, at the most."""
NO_TASK = TaskId("")
"""Stands where a refusal is about a job that was named by its number."""


class CallProgress(Struct):
    """How far a call has come, for whoever leaves it in the middle."""

    task_ids: Sequence[TaskId]
    newest_before: JobId | None = None
    """The newest job on record when it began; None where it places none and waits for any."""
    job_ids: Sequence[JobId] = ()
    """The jobs that a call names by their numbers; it names no task then."""
    placed: set[JobId] = field(default_factory=set)
    delivered: set[JobId] = field(default_factory=set)

    @property
    def is_of_several(self) -> bool:
        """Whether the call names more than one task, or job."""
        return len(self.job_ids or self.task_ids) > 1


class Terms(Struct, frozen=True):
    """How a call waits."""

    seconds: float | None = None
    """How long the whole call may take; None is as long as its jobs do."""
    detach: bool = False
    """Whether it returns as soon as its jobs are queued."""
    is_watched: bool = False
    """Whether somebody sees on a screen how these jobs end."""
    any_one: bool = False
    """Whether one outcome is enough."""
    strikes_all: bool = False
    """Whether an outcome that it delivers is owed no more to the calls that have gone away."""


class Listener(Struct, frozen=True):
    """Who hears how a call goes. What is not listened to is left untold."""

    placed: Callable[[Placed], None] = lambda _: None
    """A job of this call is on record, or was found there."""
    refused: Callable[[TaskId, SowError], None] = lambda *_: None
    """One of several tasks, or jobs (NO_TASK), was refused; the others go on."""
    unstaffed: Callable[[NoWorker], None] = lambda _: None
    """What was queued waits for a worker that somebody else has to start; only with `detach`."""
    progress: Callable[[Progress], None] = lambda _: None
    """The call goes on waiting; told when it begins to, and whenever it has looked again."""
    ended: Callable[["Outcome"], None] = lambda _: None
    """A job has ended. Its outcome is delivered when this returns, and stays owed if it raises."""


class Result(Struct, frozen=True):
    """How a call ended."""

    placed: tuple[Placed, ...]
    ended: tuple["Outcome", ...] = ()
    left: tuple["Outcome", ...] = ()
    """The jobs that still run: time was up, one outcome was enough, or it would wait in vain."""
    refused: tuple[SowError, ...] = ()
    first: str = ""
    """The command that all of those wait for, such as `sow trust`; empty where one needs none."""


def call(
    caller: Caller,
    database: Database,
    config: Configuration,
    requests: Sequence[Request],
    terms: Terms,
    listener: Listener,
    call_progress: CallProgress,
) -> Result:
    """Place every request, see to a worker, wait, and deliver each outcome as it comes.

    Of several requests, one that is refused does not stop the others. Raises
    what `place` raises for a single one, NoWorker and QueueError.
    """
    begun = time.monotonic()

    def time_left() -> float | None:
        return None if terms.seconds is None else max(0.0, begun + terms.seconds - time.monotonic())

    def place_all(waiter: Recipient | None) -> tuple[list[Placed], list[SowError]]:
        placed: list[Placed] = []
        refused: list[SowError] = []
        placing = place_in_order(
            *(caller, database, config, requests, waiter),
            time_left=time_left,
            on_tick=listener.progress,
        )
        for request, found in placing:
            error = found if isinstance(found, SowError) else None
            if isinstance(found, Placed):
                call_progress.placed.add(found.job.id)
                if found.owed and terms.detach:
                    error = OutcomeIsOwed(found.job, found.anew_with, now=caller.now())
                else:
                    placed.append(found)
                    listener.placed(found)
            if error is not None:
                if len(requests) == 1:
                    raise error
                refused.append(error)
                listener.refused(request.task_id, error)
        return placed, refused

    staffing = Staffing(caller, config, database)
    if terms.detach:
        placed, refused = place_all(None if terms.is_watched else Recipient(database, caller.now))
        if placed:
            _staff_without_waiting(staffing, listener)
        return Result(tuple(placed), refused=tuple(refused))
    with Waiter(caller, database) as waiter:
        placed, refused = place_all(waiter)
        end = _wait(waiter, staffing, placed, terms, time_left(), listener, call_progress)
    return Result(tuple(placed), end.ended, end.left, tuple(refused), end.first)


def wait_on_record(
    caller: Caller,
    database: Database,
    config: Configuration,
    terms: Terms,
    listener: Listener,
    call_progress: CallProgress,
) -> Result:
    """Wait for each job that a call names, or for the newest of each task that it names.

    Each outcome is delivered as it comes, and once: several tasks may have one merge. One of
    several that is refused does not stop the wait for the others. Raises UnknownJob, NoJobYet,
    NoJobOnRecord and WaitsForItself for a single one, NoWorker and QueueError.
    """
    from sow.calls.last_job import find_last_job  # a call that places its jobs knows them

    named = [(NO_TASK, partial(jobs.get_job, database, job_id)) for job_id in call_progress.job_ids]
    for task_id in () if call_progress.job_ids else call_progress.task_ids:
        named.append((task_id, partial(find_last_job, caller.workspace, database, task_id)))
    placed: dict[JobId, Placed] = {}
    refused: list[SowError] = []
    for task_id, find in named:
        try:
            job = find()
            caller.refuse_waiting_for(database, job.project_id, job.task_id)
            owed = job.state.is_final and waiters.is_owed(database, caller.workspace, job.id)
            placed[job.id] = Placed(job, owed=owed)
        except SowError as error:
            if len(named) == 1:
                raise
            refused.append(error)
            listener.refused(task_id, error)
    staffing = Staffing(caller, config, database)
    with Waiter(caller, database) as waiter:
        jobs_found = tuple(placed.values())
        end = _wait(waiter, staffing, jobs_found, terms, terms.seconds, listener, call_progress)
    return Result(jobs_found, end.ended, end.left, tuple(refused), end.first)


def _wait(
    waiter: Waiter,
    staffing: Staffing,
    placed: Sequence[Placed],
    terms: Terms,
    seconds: float | None,
    listener: Listener,
    call_progress: CallProgress,
) -> Result:
    """Wait for the placed jobs and deliver their outcomes; return those, and what still runs."""
    if not placed:
        return Result(())
    # It takes as long as a fifth of the placing, and the jobs are queued by now.
    from sow.calls import delivery

    database, owed = waiter.database, {found.job.id: found for found in placed if found.owed}
    ended: list[Outcome] = []
    look: HeldLook | None = None

    def held_look() -> "HeldLook | None":
        """Return what looks at held jobs; None as long as no job is held."""
        nonlocal look
        if look is None and jobs.is_one_held(database):
            # Few calls see a held job.
            from sow.calls.held_jobs import HeldLook

            look = HeldLook(waiter.caller, database)
        return look

    def leads_on(job_ids: Sequence[JobId]) -> str:
        held = held_look()
        return "" if held is None else held.leads_on(job_ids)

    def tick(progress: Progress) -> None:
        held = held_look()
        if held is not None:
            held.look()
        if held is None or not jobs.are_held(database, progress.job_ids):
            # No worker could do anything for those that are held.
            staffing.look_after()
        listener.progress(progress)

    def deliver(jobs_ended: Sequence[Job]) -> None:
        printed: list[JobId] = []
        try:
            for job in jobs_ended:
                outcome = delivery.outcome_for(waiter.caller, database, job, owed.get(job.id))
                ended.append(outcome)
                listener.ended(outcome)
                call_progress.delivered.add(job.id)
                printed.append(job.id)
        finally:  # those before one that could not be shown
            waiter.printed(printed)
        if terms.strikes_all:
            caller = waiter.caller
            for job_id in printed:
                waiters.strike_gone(
                    database, caller.workspace, job_id, escrow=caller.escrow, now=caller.now()
                )

    waiter.take_up([found.job.id for found in placed])
    left = waiter.wait(
        seconds=seconds,
        any_one=terms.any_one,
        on_tick=tick,
        on_end=deliver,
        is_in_vain=lambda job_ids: bool(leads_on(job_ids)),
    )
    return Result(
        tuple(placed),
        tuple(ended),
        tuple(delivery.as_it_stands(waiter.caller, database, job) for job in left),
        first=leads_on([job.id for job in left]) if left else "",
    )


def _staff_without_waiting(staffing: Staffing, listener: Listener) -> None:
    """Start a worker if need be; without one the job waits, which a call that detaches may."""
    try:
        staffing.ensure()
    except NoWorker as error:
        listener.unstaffed(error)


def begin(database: Database, requests: Sequence[Request]) -> CallProgress:
    """Return the progress of a call of these requests that has not placed anything yet."""
    return CallProgress([request.task_id for request in requests], jobs.newest_id(database))


def left_to_wait_for(
    caller: Caller, database: Database, call_progress: CallProgress
) -> list[TaskId]:
    """Return the tasks that there is something to wait for, of a call that was left midway.

    Not those whose outcome was delivered, nor those that no job was placed for:
    an older job of the same task is another call's. Of several tasks with one job
    (a merge) it is the first. Whoever leaves does not wait for a queue that is away.
    """
    try:
        project_id = ProjectId(read_project(caller.workspace).id)
        tasks = call_progress.task_ids
        with database.hurried(LEAVE_SECONDS):
            last = {task: jobs.last_job(database, project_id, task) for task in tasks}
    except SowError:  # nobody can tell now: rather one name too many
        return list(call_progress.task_ids)
    named: dict[JobId, TaskId] = {}
    for task, job in last.items():
        if job is not None and _is_awaited(job, call_progress):
            named.setdefault(job.id, task)
    return list(named.values())


def _is_awaited(job: Job, call_progress: CallProgress) -> bool:
    before = call_progress.newest_before
    is_ours = before is None or job.id > before or job.id in call_progress.placed
    return is_ours and job.id not in call_progress.delivered


def jobs_left(call_progress: CallProgress) -> list[JobId]:
    """Return the same by the numbers of jobs: those named or placed, and not delivered."""
    ours = call_progress.job_ids or sorted(call_progress.placed)
    return [job_id for job_id in ours if job_id not in call_progress.delivered]
