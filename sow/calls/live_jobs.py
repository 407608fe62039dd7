"""Whether a job of a task lives, for commands that would change the task; and which tasks have one.

Kept apart from the call itself, so that `sow task set` imports little.
"""

from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sow.errors import StateError
from sow.ids import JobId, ProjectId, TaskId
from sow.jobs.database import open_existing_queue, open_queue
from sow.jobs.live import has_live_job
from sow.paths import Workspace
from sow.schema.task import TaskStatus
from sow.state.projects import read_project
from sow.state.tasks import read_task

if TYPE_CHECKING:
    from sow.calls.caller import Caller
    from sow.schema.job import Job


class TaskIsRunning(StateError):
    """The task cannot be ended from outside while a job of it lives."""

    def __init__(self, job: "Job", status: TaskStatus, *, has_option: bool) -> None:
        # A task that has no job needs none of it.
        from sow.calls.idempotency import has_reported
        from sow.reports.wording import has_a_job
        from sow.schema.kinds import kind_of

        end = ", or call again with --cancel-job to end it first"
        if not has_option:
            end = f", or end it: `sow agent cancel {job.task_id}`"
        if kind_of(job).is_interactive:
            end = "; only its user can end it, by closing the session in its terminal"
        elif has_reported(job, status):  # it would be too late for either
            end = f": its agent has set the status {status} and ends soon"
        super().__init__(
            f"{has_a_job(job)} that has not ended: job {job.id} ({job.state})",
            hint=f"Wait for it (`sow agent wait {job.task_id}`){end}.",
        )


def refuse_while_live(workspace: Workspace, task_id: TaskId, *, has_option: bool) -> None:
    """Refuse to go on while a job of the task lives. Raises TaskIsRunning.

    `has_option` says that the command has `--cancel-job`.
    Asked under the task's lock it is true until the lock is given up: a job
    that is placed later takes the task under the same lock.
    """
    job = find_live_job(workspace, task_id)
    if job is not None:
        raise TaskIsRunning(job, read_task(workspace, task_id).status, has_option=has_option)


def end_live_job(
    workspace: Workspace,
    task_id: TaskId,
    environ: Mapping[str, str],
    show: "Callable[[Job], None]",
) -> None:
    """End the job of a task that lives, if any, with what its agent has queued.

    Each job is shown when it has ended, and owed to nobody then. Raises TaskIsRunning.
    """
    job = find_live_job(workspace, task_id)
    if job is None:
        return
    # Few tasks that are ended have a job.
    from sow.calls.caller import Caller
    from sow.calls.cancel import cancel_to_end
    from sow.jobs import waiters

    with closing(open_queue(workspace)) as database:
        caller = Caller(workspace, environ, Path.cwd())
        cancelled = cancel_to_end(caller, database, job)
        for ended in (cancelled.job, *cancelled.children):
            if ended.state.is_final:
                show(ended)
                waiters.strike_gone(
                    database, workspace, ended.id, escrow=caller.escrow, now=caller.now()
                )
    for left in cancelled.ending:
        status = read_task(workspace, left.task_id).status
        raise TaskIsRunning(left, status, has_option=False)


def find_live_job(workspace: Workspace, task_id: TaskId) -> "Job | None":
    """Return the job of a task that has not ended, if any; without a queue there is none."""
    database = open_existing_queue(workspace)
    if database is None:
        return None
    with closing(database):
        project = ProjectId(read_project(workspace).id)
        if not has_live_job(database, project, task_id):
            return None
        # Without such a job, what its record needs is not imported.
        from sow.jobs import jobs

        return jobs.live_job(database, project, task_id)


def lives(workspace: Workspace, job_id: JobId) -> bool:
    """Whether a job is on record and has not ended; without a queue none is."""
    database = open_existing_queue(workspace)
    if database is None:
        return False
    from sow.jobs import jobs

    with closing(database), suppress(jobs.UnknownJob):
        return not jobs.get_job(database, job_id).state.is_final
    return False


PROJECT_ITSELF = TaskId("")
"""Stands for the jobs that are about no task: the checks of the project."""


def live_tasks(caller: "Caller", *, and_project: bool = False) -> list[TaskId]:
    """Return the tasks of the project whose job has not ended, the oldest job first.

    With `and_project` a job of the project itself is named as well. Left out are
    jobs in a person's hands, which nobody else may end, and those that the caller
    itself acts for: they cannot end before it does. Raises NoProject and QueueError.
    """
    # Only `--all` asks.
    from sow.jobs import jobs
    from sow.schema.kinds import kind_of

    project = read_project(caller.workspace)
    database = open_existing_queue(caller.workspace)
    if database is None:
        return []
    with closing(database):
        own = {job.id for job in caller.jobs_above(database)}
        return [
            job.task_id
            for job in jobs.active_jobs(database)
            if (job.task_id != PROJECT_ITSELF or and_project)
            and job.project_id == project.id
            and job.id not in own
            and not kind_of(job).is_interactive
        ]
