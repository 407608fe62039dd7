"""The same job once more: the request that an ended job was made of, unless its task has moved on.

Owns that question. Whether the task allows such a call now is asked where every
call asks it.
"""

from sow.calls.caller import Caller
from sow.calls.request import Request
from sow.clones.judged import judged_commit
from sow.errors import StateError
from sow.ids import ProjectId
from sow.jobs import jobs
from sow.jobs.database import Database
from sow.reports.wording import wait_for_job
from sow.schema.job import HeldFor, Job
from sow.schema.kinds import SessionUse, kind_of
from sow.schema.task import TaskStatus
from sow.state.projects import read_project
from sow.state.tasks import read_task


class NotRetried(StateError):
    """A job that is not made again as it was."""

    def __init__(self, job: Job, reason: str, hint: str) -> None:
        super().__init__(f"job {job.id} cannot be retried: {reason}", hint=hint)
        self.job_id = job.id


def request_again(
    caller: Caller, database: Database, job: Job, *, fresh: bool, priority: int | None
) -> Request:
    """Return the request that makes a job again: the same verb and words. Raises NotRetried."""
    _refuse_unended(job)
    _refuse_moved_on(caller, database, job)
    kind = kind_of(job)
    begins = kind.session is SessionUse.BEGINS
    if fresh and not begins:
        raise NotRetried(job, "its kind of job has no session to start again", _plainly(job))
    in_clone = job.works_in_clone
    return Request(
        verb=job.verb,
        task_id=job.task_id,
        agent=None if kind.session is SessionUse.CONTINUES else job.agent or None,
        prompt=job.prompt,
        fresh=fresh or job.fresh,
        again=True,
        cwd=caller.workspace.root / job.cwd if begins else None,
        clone=True if begins and in_clone else None,
        when_ready=job.held_for is HeldFor.DEPENDENCIES,
        priority=job.priority if priority is None else priority,
        terms=None if kind.is_agents else job.terms,
    )


def _plainly(job: Job) -> str:
    return f"Without --fresh: `sow job retry {job.id}`."


def _refuse_unended(job: Job) -> None:
    if kind_of(job).is_interactive:
        again = f"`sow agent open {job.task_id}` opens the session again."
        raise NotRetried(job, "it was a person's session on a terminal", again)
    if not job.state.is_final:
        way_on = f"Wait for it: `{wait_for_job(job)}`. End it: `sow job cancel {job.id}`."
        raise NotRetried(job, f"it has not ended ({job.state})", way_on)


def _refuse_moved_on(caller: Caller, database: Database, job: Job) -> None:
    """Refuse where what the job left behind is not what is there now. Raises NotRetried."""
    if read_project(caller.workspace).id != job.project_id:
        raise NotRetried(
            job,
            "its project is not checked out",
            "Check out its branch first; `sow job show` names its project.",
        )
    for task_id in job.tasks or (job.task_id,):
        last = jobs.last_job(database, ProjectId(job.project_id), task_id)
        if last is not None and last.id != job.id:
            whose = f"task {task_id}" if task_id else "the project"
            raise NotRetried(
                job,
                f"{whose} has changed since: it has a newer job {last.id} ({last.verb},"
                f" {last.state})",
                f"`sow job explain {last.id}` shows its state.",
            )
    if kind_of(job).marks_task:
        _refuse_other_status(job, read_task(caller.workspace, job.task_id).status)
    if job.judged_commit is not None:
        _refuse_other_commit(caller, job, job.judged_commit)


def _refuse_other_status(job: Job, status: TaskStatus) -> None:
    if job.outcome_status is not None and status is not job.outcome_status:
        raise NotRetried(
            job,
            f"task {job.task_id} has changed since: it was {job.outcome_status} after the job,"
            f" and is {status} now",
            f"`sow task show {job.task_id}` shows its state.",
        )


def _refuse_other_commit(caller: Caller, job: Job, judged: str) -> None:
    commit = judged_commit(caller.workspace, read_task(caller.workspace, job.task_id))
    if commit != judged:
        raise NotRetried(
            job,
            f"task {job.task_id} has changed since: the job reviewed commit {judged[:12]}, and"
            f" the work is at {(commit or '')[:12]} now",
            f"To review the new commit: `sow agent review {job.task_id}`.",
        )
