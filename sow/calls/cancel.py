"""Cancelling a job and what its agent has queued: at once what waits, by its worker what runs.

Owns the request. It is made in one transaction for the whole family: a process
that dies after it leaves nothing that is asked of one job and not of the
others, and a worker goes on from there. An agent whose job is to end can queue
nothing more (`caller`), so it cannot outrun the request. What becomes of the
task of a job that waits is `job_end`'s; ending a running agent's tree is its
supervisor's. Owns also the wait until all that was asked to end has ended, and how long that may
take; who prints what has ended strikes it from what callers are owed.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from sow.calls import job_end
from sow.calls.autostart import Staffing
from sow.calls.caller import Caller
from sow.calls.idempotency import has_reported
from sow.calls.wait import Progress, Waiter
from sow.errors import StateError
from sow.ids import JobId, ProjectId, TaskId
from sow.jobs import jobs, leases, workers
from sow.jobs.database import Database
from sow.jobs.unrecorded_agents import refuse_strays
from sow.jobs.unverifiable import is_in_doubt
from sow.reports.wording import subject_of, wait_for_job
from sow.schema.job import Job, JobState
from sow.schema.kinds import kind_of
from sow.schema.task import TaskStatus
from sow.state.projects import read_project
from sow.state.tasks import find_task, read_task


class NothingToCancel(StateError):
    """There is no job that could be cancelled."""

    def __init__(
        self, task_id: str, ended: Job | None = None, children: Sequence[Job] = ()
    ) -> None:
        what = _how_it_ended(ended) if ended else "it has no running or waiting job"
        had = f"`sow job list --task {task_id}` shows its past jobs."
        if ended is not None and not ended.task_id:
            had = f"`sow job show {ended.id}` shows how it ended."
        super().__init__(
            f"nothing to cancel for {subject_of(ended) if ended else f'task {task_id}'}: {what}",
            hint=_on_children(children) or had,
        )
        self.ended = ended
        """The job that has ended, where the error says how."""


class TooLate(StateError):
    """The agent has reported already, and its report stands; or the job has ended by itself."""

    def __init__(self, job: Job, status: TaskStatus | None, children: Sequence[Job] = ()) -> None:
        how = (
            f"its agent has already set the status {status}"
            if status
            else f"it has ended ({job.state})"
        )
        wait = f"`{wait_for_job(job)}` {'waits until' if status else 'prints how'} it has ended."
        super().__init__(
            f"too late to cancel job {job.id} of {subject_of(job)}: {how}",
            hint=_on_children(children) or wait,
        )


class OpenOnTerminal(StateError):
    """A person is at work in the session; that is not for anybody else to end."""

    def __init__(self, job: Job) -> None:
        where = f" by process {job.caller.pid}" if job.caller else ""
        super().__init__(
            f"the session of task {job.task_id} is open on a terminal (job {job.id}{where})",
            hint="Close it in that terminal; after that the task is free.",
        )


class NotGivenBack(StateError):
    """The job has ended, but its task could not be changed yet."""

    def __init__(self, job: Job, error: StateError) -> None:
        super().__init__(
            f"job {job.id} of task {job.task_id} is cancelled, "
            f"but its task is still in progress: {error.message}",
            hint=f"{error.hint} A worker tries again by itself; `sow agent cancel {job.task_id}`"
            " tries again now.",
        )


def _how_it_ended(job: Job) -> str:
    if job.state is JobState.CANCELLED:
        left = f", with the status {job.outcome_status}" if job.outcome_status else ""
        return f"job {job.id} is cancelled already{left}"
    return f"job {job.id} has ended"


def _on_children(children: Sequence[Job]) -> str:
    """Return what can be done about jobs that go on though the one above them has ended."""
    if not children:
        return ""
    ends = (
        f"`sow agent cancel {job.task_id}`" if job.task_id else f"`sow job cancel {job.id}`"
        for job in children
    )
    numbered = zip(ends, children, strict=True)
    commands = ", ".join(f"{end} (job {job.id})" for end, job in numbered)
    return f"The jobs that it queued still run; to cancel them: {commands}."


@dataclass(frozen=True)
class Cancelled:
    """The jobs that one request is about, as they stand once it is on record."""

    job: Job
    children: tuple[Job, ...] = ()
    """What its agents had queued, all generations: ended, or asked to end, with it."""
    kept: tuple[Job, ...] = ()
    """What goes on: the children of `--keep-children`, and sessions that a person has open."""

    @property
    def ending(self) -> tuple[Job, ...]:
        """Those that are asked to end, and still run."""
        return tuple(job for job in (self.job, *self.children) if not job.state.is_final)


def job_to_cancel(caller: Caller, database: Database, task_id: TaskId) -> Job:
    """Return the job of a task that has not ended, else one whose cancelling may have broken off.

    Raises NothingToCancel, UnknownTask, and TaskIsCarried where an agent is at work
    of which the queue knows nothing.
    """
    project_id = ProjectId(read_project(caller.workspace).id)
    job = jobs.live_job(database, project_id, task_id)
    if job is not None:
        return job
    refuse_strays(caller.workspace, database, task_id)
    last = jobs.last_job(database, project_id, task_id)
    if last is None:
        find_task(caller.workspace, task_id)
        raise NothingToCancel(task_id)
    if last.state is JobState.CANCELLED:
        return last
    raise NothingToCancel(task_id, children=_endable(jobs.descendants(database, last.id)))


def cancel_job(
    caller: Caller, database: Database, job: Job, *, keep_children: bool = False
) -> Cancelled:
    """Cancel a job and what its agents have queued; each is ended, or its end is asked for.

    Repeating it goes on where a command was killed that did the same. Raises
    NothingToCancel, TooLate, OpenOnTerminal, WouldEndItself.
    """
    caller.refuse_ending(database, job)
    reports = _reports(caller, [job, *jobs.descendants(database, job.id)])
    with database.transaction():
        current = jobs.get_job(database, job.id)
        family = jobs.descendants(database, job.id)
        if current.state.is_final:
            family = _left_by_request(current, family)
        else:
            _refuse(database, current, family, reports)
            _end_or_ask(caller, database, current)
        chosen = [] if keep_children else _endable(family)
        for below in chosen:
            # An agent that has reported is only ending: its report stands.
            if below.id not in reports or not _has_an_agent(database, below):
                _end_or_ask(caller, database, below)
    _conclude_all(caller, database, [job.id, *(below.id for below in chosen)])
    workers.wake(caller.workspace)
    taken = {below.id for below in chosen}
    return Cancelled(
        job=jobs.get_job(database, job.id),
        children=tuple(jobs.get_job(database, below.id) for below in chosen),
        kept=tuple(member for member in family if member.id not in taken),
    )


def _endable(family: Sequence[Job]) -> list[Job]:
    """Return the jobs without those that a person has open on a terminal."""
    return [job for job in family if not kind_of(job).is_interactive]


def _left_by_request(job: Job, family: Sequence[Job]) -> list[Job]:
    """Return what an earlier request for an ended job has left to end. Raises NothingToCancel."""
    left = [member for member in family if member.cancel_requested_at is not None]
    if job.state is JobState.CANCELLED and (left or job.owes_task):
        return left
    raise NothingToCancel(job.task_id, job, _endable(family))


def _refuse(
    database: Database, job: Job, family: Sequence[Job], reports: Mapping[JobId, TaskStatus]
) -> None:
    """Refuse what is not to be ended from here. Raises OpenOnTerminal, TooLate."""
    if kind_of(job).is_interactive:
        raise OpenOnTerminal(job)
    if job.id in reports and _has_an_agent(database, job):
        raise TooLate(job, reports[job.id], _endable(family))


def _end_or_ask(caller: Caller, database: Database, job: Job) -> None:
    """End a job that no worker holds; ask for the end of any other. In the caller's transaction."""
    now = caller.now()
    if job.cancel_requested_at is None:
        jobs.change_job(database, job.id, cancel_requested_at=now)
    leases.withdraw(database, job.id)
    if leases.lease_of(database, job.id) is not None:
        return
    job_end.cancel(database, job, reason="cancelled while it waited", now=now)


def _conclude_all(caller: Caller, database: Database, job_ids: Sequence[JobId]) -> None:
    """Give back the tasks of those that have ended; raise the first refusal when all are done."""
    refusals: list[StateError] = []
    for job_id in job_ids:
        job = jobs.get_job(database, job_id)
        if not job.state.is_final:
            continue
        try:
            job_end.conclude(caller.workspace, database, job, now=caller.now())
        except StateError as error:
            refusals.append(NotGivenBack(job, error))
    if refusals:
        workers.wake(caller.workspace)
        raise refusals[0]


def _has_an_agent(database: Database, job: Job) -> bool:
    """Whether an agent of the job runs, or has ended and is still to be judged."""
    attempt = jobs.last_attempt(database, job.id)
    is_unjudged = attempt is not None and attempt.number > job.settled
    return is_unjudged or leases.lease_of(database, job.id) is not None


def _reports(caller: Caller, family: Sequence[Job]) -> dict[JobId, TaskStatus]:
    """Return by job what the tasks of some jobs say, where an agent has set it.

    Read before the transaction, never in it: a reader may have to put a file back
    under its folder's lock, and whoever needs both takes the lock first. What is
    queued after this has not reported.
    """
    stand = [(job, _status(caller, job)) for job in family]
    return {job.id: status for job, status in stand if status and has_reported(job, status)}


def _status(caller: Caller, job: Job) -> TaskStatus | None:
    """Return the status of a job's task; None where another project, or nothing valid, is there."""
    with suppress(StateError):
        if read_project(caller.workspace).id == job.project_id:
            return read_task(caller.workspace, job.task_id).status
    return None


CANCEL_SECONDS = 60.0
"""How long an agent's tree may take to end before the command says so."""


class NotEnded(StateError):
    """A job was asked to end, and has not."""

    def __init__(self, job: Job) -> None:
        super().__init__(
            f"{_asked(job)}, but its agent has not ended in {CANCEL_SECONDS:.0f} s",
            hint=f"`{wait_for_job(job)}` waits longer; `sow worker logs` may show why.",
        )


class EndIsUnverifiable(StateError):
    """A job was asked to end, and nobody here can tell whether it still runs."""

    def __init__(self, job: Job) -> None:
        super().__init__(
            f"{_asked(job)}, but its agent was started in another pid namespace",
            hint="If you know that it no longer runs (for example, its container was removed),"
            f" run `sow job resolve {job.id} --gone`.",
        )


def _asked(job: Job) -> str:
    return f"job {job.id} of {subject_of(job)} was asked to end"


def cancel_to_end(
    caller: Caller,
    database: Database,
    job: Job,
    *,
    keep_children: bool = False,
    on_tick: Callable[[Progress], None] = lambda _: None,
) -> Cancelled:
    """Cancel a job and wait until all of it has ended; return the jobs as they stand then.

    Those that have not ended are in `Cancelled.ending`: time was up, or nobody
    can tell whether they run. What `on_tick` raises ends the wait, and the
    request stands. Raises what `cancel_job` does, NoWorker and QueueError.
    """
    cancelled = cancel_job(caller, database, job, keep_children=keep_children)
    _await_end(caller, database, cancelled, on_tick)
    return replace(
        cancelled,
        job=jobs.get_job(database, job.id),
        children=tuple(jobs.get_job(database, child.id) for child in cancelled.children),
        kept=tuple(jobs.get_job(database, child.id) for child in cancelled.kept),
    )


def _await_end(
    caller: Caller, database: Database, cancelled: Cancelled, on_tick: Callable[[Progress], None]
) -> None:
    """Wait until the jobs have ended, save those of which nobody can tell whether they run."""
    awaited = [job for job in cancelled.ending if not is_in_doubt(caller.workspace, database, job)]
    if not awaited:
        return
    staffing = Staffing(caller, caller.load_configuration(), database)

    def tick(progress: Progress) -> None:
        staffing.look_after()
        on_tick(progress)

    with Waiter(caller, database, passing=True) as waiter:
        waiter.begin([job.id for job in awaited])
        waiter.wait(seconds=CANCEL_SECONDS, on_tick=tick)


def not_ended(caller: Caller, database: Database, job: Job) -> StateError:
    """Return what to say of a job that was asked to end and has not."""
    doubtful = is_in_doubt(caller.workspace, database, job)
    return EndIsUnverifiable(job) if doubtful else NotEnded(job)
