"""The hold on a task whose session a person has open on a terminal: a job of the verb `open`.

Owns how such a job ends. Everything that asks for the live job of a task finds
it, so that nobody else spawns, resumes or ends the task. It is over when its
CLI ends, not when the process that started it dies: nothing of the session may run.
"""

from sow import env_vars
from sow.jobs import attempt_evidence, jobs, waiters
from sow.jobs.database import Database
from sow.jobs.jobs import author_of_job
from sow.paths import Workspace
from sow.processes import process_facts
from sow.processes.process_facts import Life
from sow.schema.causes import Cause
from sow.schema.job import Job, JobState
from sow.schema.kinds import kind_of
from sow.schema.task import Task, TaskStatus
from sow.state import transitions
from sow.state.projects import read_project
from sow.state.state_errors import NoProject, UnknownTask
from sow.state.tasks import change_task


def is_deserted(workspace: Workspace, database: Database, job: Job) -> bool:
    """Whether a session is open on record only: neither who opened it nor its CLI runs."""
    if kind_of(job).is_leased or job.state.is_final or job.caller is None:
        return False
    attempt = jobs.last_attempt(database, job.id)
    if process_facts.life_of(job.caller, workspace.run) is not Life.DEAD or attempt is None:
        return False
    is_locked = attempt_evidence.is_locked(workspace.attempt(job.id, attempt.number))
    return not is_locked and not process_facts.carriers(env_vars.ATTEMPT_ID, attempt.id)


def release(
    workspace: Workspace, database: Database, job: Job, *, code: int | None, now: float
) -> Job:
    """Give the task back, end the job and return it; a status set in the session stays.

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

    def end(task: Task) -> None:
        _end(database, job, task.status, cause, code, now)

    try:
        if read_project(workspace).id != job.project_id:
            raise NoProject(workspace.project)
        by = author_of_job(job, attempt=1)
        change_task(workspace, job.task_id, change, now=now, then=end, by=by)
    except NoProject:
        _end(database, job, _status_before(job), cause, code, now, owes_task=True)
    except UnknownTask:
        _end(database, job, _status_before(job), cause, code, now)
    # Every call that places a job imports this module, and hardly one finds a session to end.
    from sow.jobs.end_entries import log_ends

    log_ends(workspace, database)
    waiters.ring_job(database, workspace, job.id)
    return jobs.get_job(database, job.id)


def _status_before(job: Job) -> TaskStatus:
    """Return what a session that set no status leaves; never `in_progress`, with nobody at work."""
    prior = job.prior_status
    return TaskStatus.PAUSED if prior is None or prior is TaskStatus.IN_PROGRESS else prior


def _end(
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
