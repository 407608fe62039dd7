"""Whether a call has been made before: the same call again finds the job that it has placed.

Owns which job that is: attached to while it lives, owed once it has ended. Reads only, so that
`--dry-run` asks here too.
"""

from contextlib import suppress

from msgspec.structs import replace

from sow.calls.admission import NothingAsked, admit
from sow.calls.caller import Caller
from sow.calls.request import Placed, Resolved
from sow.clock import clock_time
from sow.errors import SowError, StateError
from sow.ids import TaskId
from sow.jobs import jobs, waiters
from sow.jobs.database import Database
from sow.reports.wording import has_a_job, subject_of, wait_for_job
from sow.schema.job import Job
from sow.schema.kinds import kind_of
from sow.schema.task import TaskStatus
from sow.state.transitions import NO_REPORTS


def has_reported(job: Job, status: TaskStatus) -> bool:
    """Whether `status`, in which the task of a live job stands, is what its agent has left.

    Such a job is over in all but name: its agent's program is only ending.
    """
    return kind_of(job).reports_status and status not in NO_REPORTS


class TaskHasJob(StateError):
    """Another call's job of the task has not ended."""

    def __init__(self, job: Job, status: TaskStatus | None) -> None:
        end = f"End it: `sow job cancel {job.id}`."
        if job.task_id:
            end = f"End it: `sow agent cancel {job.task_id}`."
        if kind_of(job).is_interactive:
            end = "Only its user can end it, by closing the session in its terminal."
        elif status is not None and has_reported(job, status):
            end = f"Its agent has set the status {status} and ends soon."
        by = f" by {job.executor_name}" if job.executor_name else ""
        super().__init__(
            f"{has_a_job(job)} that has not ended: job {job.id} ({job.verb}{by}, {job.state})",
            hint=f"Wait for it: `{wait_for_job(job)}`. {end}",
        )
        self.job = job


class OutcomeIsOwed(StateError):
    """A call that will not wait would queue nothing: what it asks for has ended, untold."""

    def __init__(self, job: Job, anew_with: str | None, *, now: float) -> None:
        ended = f" at {clock_time(job.ended_at, now)}" if job.ended_at else ""
        anew = f" To run it again, add {anew_with}." if anew_with else ""
        how = job.outcome_status or job.state
        super().__init__(
            f"no job was queued for {subject_of(job)}: job {job.id} of an earlier identical call"
            f" has ended{ended} ({how}), and its result was not shown yet",
            hint=f"`{wait_for_job(job)}` prints it.{anew}",
        )
        self.job_id = job.id


def find_same(caller: Caller, database: Database, resolved: Resolved) -> Placed | None:
    """Return the job that the same call placed before: live, or ended with its outcome owed.

    Raises TaskHasJob when another call's job lives, NothingAsked where that is at work.
    """
    task_id = TaskId(resolved.task.id)
    live = jobs.live_job(database, resolved.project_id, task_id)
    if live is not None:
        if is_same_call(live, resolved):
            return Placed(live, attached=True, notes=resolved.notes)
        if resolved.request.answers and resolved.task.status is TaskStatus.IN_PROGRESS:
            raise NothingAsked(resolved.task, has_job=True)
        raise TaskHasJob(live, resolved.task.status)
    last = jobs.last_job(database, resolved.project_id, task_id)
    if last is None or resolved.request.again or not is_same_call(last, resolved):
        return None
    if last.outcome_status != resolved.task.status:
        return None
    if waiters.is_owed(database, caller.workspace, last.id):
        anew_with = _option_for_anew(caller, resolved)
        return Placed(last, owed=True, anew_with=anew_with, notes=resolved.notes)
    return None


def _option_for_anew(caller: Caller, resolved: Resolved) -> str | None:
    """Return the option that makes a call whose outcome is owed run anew, if one does.

    A session is spawned once: where it has started, a spawn is admitted with
    `--fresh` only, which is another call. What has been completed takes none, and
    a resume that is not admitted is so with `--fresh` neither.
    """
    fresh = replace(resolved, request=replace(resolved.request, fresh=True))
    for option, call in (("--again", resolved), ("--fresh", fresh)):
        with suppress(SowError):
            admit(caller, call, resolved.task)
            return option
    return None


def refuse_other_job(database: Database, resolved: Resolved) -> None:
    """Refuse a call of which there cannot be two while any job of the task lives.

    Raises TaskHasJob.
    """
    live = jobs.live_job(database, resolved.project_id, TaskId(resolved.task.id))
    if live is not None:
        raise TaskHasJob(live, resolved.task.status)


def is_same_call(job: Job, resolved: Resolved) -> bool:
    """Whether a job was placed by the same call: verb, task, agent, executor and prompt."""
    request = resolved.request
    return (
        job.verb is request.verb
        and job.agent == resolved.agent
        and resolved.executor.name in job.executor_names
        and job.prompt == request.prompt
        and job.fresh == request.fresh
    )
