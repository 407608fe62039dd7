"""How a job ends: the one place that writes it, whoever has ended it.

Owns also what becomes of a job that never came to run (its placing failed, or its caller died):
queued where its task is marked as taken already, undone otherwise. The call itself, the next call
of the task and a worker's recovery all ask here; whoever comes first settles it. A task whose
session a person has open on a terminal has a job of the verb `open`, which ends here too.

A job ends first, and its task is given back after that. The commit that ends
it says that it owes its task (`owes_task`), so a process that dies in between
leaves nothing forgotten: whoever comes next gives the task back.
"""

from typing import Any

from sow import env_vars
from sow.ids import JobId
from sow.jobs import attempt_evidence, jobs, leases, waiters, workers
from sow.jobs.database import Database
from sow.jobs.jobs import author_of_job
from sow.paths import Workspace
from sow.processes import process_facts
from sow.processes.life import Life
from sow.schema.causes import Cause
from sow.schema.job import WAITING_STATES, Job, JobState, Lease
from sow.schema.kinds import SessionUse, kind_of
from sow.schema.task import Task, TaskStatus
from sow.state import transitions
from sow.state.projects import read_project
from sow.state.state_errors import NoProject, UnknownTask
from sow.state.tasks import change_task, read_task

PATIENCE_SECONDS = 10.0
"""How long a call waits for a process that brings a task's work home from another host."""


def is_abandoned(workspace: Workspace, database: Database, job: Job, *, now: float) -> bool:
    """Whether a job is still `preparing` though the caller that prepared it is gone.

    What proves that: its process has ended here, or with an earlier boot of this machine. What
    does of one in another pid namespace, `elsewhere` says.
    """
    if job.state is not JobState.PREPARING:
        return False
    if job.caller is None:
        return True
    life = process_facts.life_of(job.caller, workspace.run)
    if life is not Life.UNVERIFIABLE:
        return life is Life.DEAD
    # Only where a container was started again, or two share a checkout.
    from sow.jobs.elsewhere import is_caller_gone

    return is_caller_gone(workspace, database, job, now=now)


def finish(workspace: Workspace, database: Database, job: Job, *, now: float) -> JobState:
    """Queue an abandoned job whose task is marked, undo any other; return the state it is in.

    Its project must be checked out. A task that was removed since is not marked.
    """
    try:
        is_marked = _is_marked(job, read_task(workspace, job.task_id))
    except UnknownTask:
        is_marked = False
    if not is_marked:
        undo(workspace, database, job, reason="its caller died before the job was queued", now=now)
    else:
        with database.transaction():
            if jobs.get_job(database, job.id).state is JobState.PREPARING:
                leases.queue_or_hold(database, job, now=now)
        workers.wake(workspace)
    return jobs.get_job(database, job.id).state


def _continues(job: Job) -> bool:
    return kind_of(job).session is SessionUse.CONTINUES


def _is_marked(job: Job, task: Task) -> bool:
    """Whether the caller came as far as taking the task.

    A spawn of a task that was `in_progress` before may lack its new session.
    """
    taken_anew = job.prior_status is not TaskStatus.IN_PROGRESS or _continues(job)
    return task.status is TaskStatus.IN_PROGRESS and taken_anew


def undo(
    workspace: Workspace,
    database: Database,
    job: Job,
    *,
    reason: str,
    now: float,
    known_to: str | None = None,
) -> None:
    """End a job that is not queued yet, and give its task back; nothing if it has gone on.

    `known_to` is the waiter that is told so in another way, and is owed nothing.
    """
    with database.transaction():
        state = jobs.get_job(database, job.id).state
        if state in (JobState.PREPARING, JobState.CANCELLED):
            waiters.withdraw(database, workspace, job.id, known_to=known_to)
        if state is not JobState.PREPARING:
            return
        end(
            database,
            job.id,
            state=JobState.CANCELLED,
            cause=Cause.CANCELLED,
            reason=reason,
            now=now,
            outcome_status=job.prior_status,
            owes_task=kind_of(job).marks_task,
        )
    conclude(workspace, database, job, now=now)


def withdraw(
    workspace: Workspace, database: Database, job: Job, *, reason: str, now: float
) -> None:
    """End a job that waits in the queue and has never begun; nothing where it has meanwhile.

    Nobody has asked for its end as a cancel does: its batch may queue it again.
    """
    with database.transaction():
        current = jobs.get_job(database, job.id)
        if current.state not in WAITING_STATES or current.started_at is not None:
            return
        leases.withdraw(database, job.id)
        cancel(database, current, reason=reason, now=now)
        jobs.change_job(database, job.id, cancel_requested_at=current.cancel_requested_at)
    conclude(workspace, database, job, now=now)


def cancel(
    database: Database, job: Job, *, reason: str, now: float, lease: Lease | None = None
) -> None:
    """Write that a job is cancelled while no agent of it runs; `conclude` follows.

    Its task gets its earlier status, or `paused` once an agent has run. A task
    that was in progress before, by a person's word, is left `paused` too:
    nobody is at work on it then. Raises Fenced.
    """
    ran = jobs.last_attempt(database, job.id) is not None
    taken_before = job.prior_status is TaskStatus.IN_PROGRESS
    left = TaskStatus.PAUSED if ran or taken_before else job.prior_status
    end(
        database,
        job.id,
        state=JobState.CANCELLED,
        cause=Cause.CANCELLED,
        reason=reason,
        now=now,
        lease=lease,
        outcome_status=left if kind_of(job).marks_task else None,
        owes_task=kind_of(job).marks_task,
        cancel_requested_at=job.cancel_requested_at or now,
    )


def end(
    database: Database,
    job_id: JobId,
    *,
    state: JobState,
    cause: Cause,
    reason: str,
    now: float,
    lease: Lease | None = None,
    **more: Any,
) -> None:
    """Write in one commit how a job has ended, with its last attempt and the lease on it, if any.

    `more` are further fields of the job. An attempt whose cause is on record keeps it. A job that
    is done shows no reason, but for one of our own programs, whose words stand nowhere else.
    Raises Fenced.
    """
    # Every call that places a job imports this module, and hardly one finds a job to end.
    from sow.jobs.spending import close_attempt, is_open

    of_attempt = "cancelled" if cause is Cause.CANCELLED else reason
    is_shown = state is not JobState.DONE or cause is Cause.PASSED
    ends = {
        "state": state,
        "cause": cause,
        "reason": reason if is_shown else "",
        "ended_at": now,
        **more,
    }
    with database.transaction():
        if lease is None:
            if is_open(database, job_id):  # not every caller may write of attempts
                close_attempt(database, job_id, cause, of_attempt, now=now)
            jobs.change_job(database, job_id, **ends)
            return
        with leases.under(database, lease):
            close_attempt(database, job_id, cause, of_attempt, now=now)
            leases.settle(database, lease, **ends)


def conclude(workspace: Workspace, database: Database, job: Job, *, now: float) -> None:
    """Give back the task of a job that has just ended, and ring those who wait for it.

    Raises StateError where the task cannot be written now; it stays owed then.
    """
    try:
        give_back(workspace, database, jobs.get_job(database, job.id), now=now)
    finally:
        _log_and_ring(workspace, database, job)


def _log_and_ring(workspace: Workspace, database: Database, job: Job) -> None:
    # Every call that places a job imports this module, and hardly one finds a job to end.
    from sow.jobs.end_entries import log_ends

    log_ends(workspace, database)
    waiters.ring_job(database, workspace, job.id)


def give_back(
    workspace: Workspace, database: Database, job: Job, *, now: float, patience: float = 0.0
) -> bool:
    """Give a task the status that its ended job owes it; False while it must wait for that.

    It waits while another project is checked out. A task that another call has
    taken meanwhile is left to that one, a status that somebody has set stays,
    and a task that is gone is owed nothing. Where another process brings its work home from
    another host, it waits `patience` seconds for that. Raises WorkArrives then, StateError where
    the task cannot be read or written now. Repeating it does no harm.
    """
    if not job.owes_task:
        return True
    if database.is_shared:
        # Few queues are shared.
        from sow.travel.arriving import bring_home

        if not bring_home(workspace, database, job, now=now, patience=patience):
            return False
    is_taken = False

    def change(task: Task) -> transitions.FieldChanges:
        nonlocal is_taken
        live = jobs.live_job(database, job.project_id, job.task_id)
        is_taken = live is not None and kind_of(live).marks_task
        if is_taken or not jobs.get_job(database, job.id).owes_task:
            return {}
        return _owed(database, job, task, now)

    def settle(task: Task) -> None:
        left = {} if is_taken or not kind_of(job).marks_task else {"outcome_status": task.status}
        _pay(database, job, **left)

    try:
        if read_project(workspace).id != job.project_id:
            return False
        by = author_of_job(job, attempt=job.settled or None)
        change_task(workspace, job.task_id, change, now=now, then=settle, by=by)
    except NoProject:
        return False
    except UnknownTask:
        _pay(database, job)
    return True


def _pay(database: Database, job: Job, **left: Any) -> None:
    """Note that a job owes its task no more, and have its batch look once more.

    The batch may have looked since the job ended, and taken it for at work; where the task's
    status stays, nothing else would tell the batch that it is not.
    """
    # Every call that places a job imports this module, and hardly one finds a job to end.
    from sow.jobs import batch_news

    with database.transaction():
        if jobs.pay_task(database, job.id, **left) and job.batch is not None:
            batch_news.reopen(database, job.batch)


def _owed(database: Database, job: Job, task: Task, now: float) -> transitions.FieldChanges:
    """Return what changes in a task that its ended job still has in progress."""
    if not kind_of(job).marks_task:  # it was away, and owed what befell it there
        return {}
    if task.status in transitions.TERMINAL:
        return transitions.clear_session(task)
    if task.status is not TaskStatus.IN_PROGRESS:
        return {}
    if job.state is JobState.FAILED:
        return transitions.enter(task, TaskStatus.FAILED, now=now)
    never_ran = jobs.last_attempt(database, job.id) is None
    prior = job.outcome_status or TaskStatus.PENDING
    if prior in transitions.TERMINAL:  # the word of another host: it ends no task
        prior = TaskStatus.NEEDS_REVIEW
    return transitions.undo(task, prior, resumed=never_ran and _continues(job))


def is_deserted(workspace: Workspace, database: Database, job: Job) -> bool:
    """Whether a session is open on record only: neither who opened it nor its CLI runs.

    It is over when its CLI ends, not when the process that started it dies.
    """
    if kind_of(job).is_leased or job.state.is_final or job.caller is None:
        return False
    attempt = jobs.last_attempt(database, job.id)
    life = process_facts.life_of(job.caller, workspace.run)
    if life is Life.ALIVE or attempt is None:
        return False
    paths = workspace.attempt(job.id, attempt.number)
    if life is Life.UNVERIFIABLE:
        # Only where a container was started again, or two share a checkout.
        from sow.jobs.elsewhere import is_opener_gone

        if not is_opener_gone(paths):
            return False
    is_locked = attempt_evidence.is_locked(paths)
    return not is_locked and not process_facts.carriers(env_vars.ATTEMPT_ID, attempt.id)


def release(
    workspace: Workspace, database: Database, job: Job, *, code: int | None, now: float
) -> Job:
    """End the job of an open session, give its task back and return the job.

    A status set in the session stays.

    A session that set none leaves the status from before. `code` is how its CLI
    exited, None where nobody saw it. Repeating it does no harm: both are done
    under the task's lock, and only while the job has not ended.
    """
    cause = Cause.CLOSED

    def change(task: Task) -> transitions.FieldChanges:
        nonlocal cause
        current = jobs.get_job(database, job.id)
        if current.state.is_final:
            return {}  # another was first, and the task may be another job's by now
        if task.status not in transitions.NO_REPORTS:
            cause = Cause.REPORTED
        if task.status in transitions.TERMINAL:
            return transitions.clear_session(task)
        return transitions.undo(task, _status_before(current))

    def close(task: Task) -> None:
        _close(database, job, task.status, cause, code, now)

    try:
        if read_project(workspace).id != job.project_id:
            raise NoProject(workspace.project)
        by = author_of_job(job, attempt=1)
        change_task(workspace, job.task_id, change, now=now, then=close, by=by)
    except NoProject:
        _close(database, job, _status_before(job), cause, code, now, owes_task=True)
    except UnknownTask:
        _close(database, job, _status_before(job), cause, code, now)
    _log_and_ring(workspace, database, job)
    return jobs.get_job(database, job.id)


def _status_before(job: Job) -> TaskStatus:
    """Return what a session that set no status leaves; never `in_progress`, with nobody at work."""
    prior = job.prior_status
    return TaskStatus.PAUSED if prior is None or prior is TaskStatus.IN_PROGRESS else prior


def _close(
    database: Database,
    job: Job,
    status: TaskStatus,
    cause: Cause,
    code: int | None,
    now: float,
    *,
    owes_task: bool = False,
) -> None:
    """End the job and its attempt together, unless somebody has done so."""
    with database.transaction():
        if jobs.get_job(database, job.id).state.is_final:
            return
        jobs.change_attempt(database, job.id, 1, cause=cause, exit_code=code, ended_at=now)
        changes = {"cause": cause, "outcome_status": status, "settled": 1, "ended_at": now}
        jobs.change_job(database, job.id, state=JobState.DONE, owes_task=owes_task, **changes)
