"""`sow agent cancel` and `sow job cancel`: end jobs, by their tasks or their numbers."""

import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

from sow.calls.batch_cancel import cancel_batch
from sow.calls.caller import Caller
from sow.calls.cancel import (
    Cancelled,
    NothingToCancel,
    TooLate,
    cancel_to_end,
    job_to_cancel,
    not_ended,
)
from sow.cli import completing
from sow.cli import late_click as click
from sow.cli.arguments import all_or_named, ids_option, this_caller
from sow.cli.detaching import GONE, detaching_signals, leave_if_nobody_waits
from sow.cli.failure import for_each
from sow.cli.job_record import find_job
from sow.cli.output import echo_json, json_option, shown_state
from sow.errors import ExitCode
from sow.ids import JobId, ProjectId, TaskId
from sow.jobs import batches, jobs, waiters
from sow.jobs.database import Database, open_queue
from sow.reports.outcome import line_of
from sow.reports.views import cancelled_view, outcome_of, read_views
from sow.schema.job import Job, JobState
from sow.schema.kinds import kind_of
from sow.schema.output.jobs import Cancelled as CancelledView
from sow.state.projects import read_project

F = TypeVar("F", bound=Callable[..., Any])


class How(NamedTuple):
    """What ends with a job, and how it is printed."""

    keep_children: bool = False
    with_batches: bool = False
    as_json: bool = False


def _cancel_options(function: F) -> F:
    """Give a command the options of a cancel, passed to it as `how`."""

    @wraps(function)
    def with_how(*, keep_children: bool, with_batches: bool, as_json: bool, **values: Any) -> Any:
        return function(how=How(keep_children, with_batches, as_json), **values)

    command: Any = json_option(with_how)
    words = "Cancel the batches that its agent has started, too."
    command = click.option("--with-batches", is_flag=True, help=words)(command)
    words = "Do not cancel the jobs that its agent has queued."
    command = click.option("--keep-children", is_flag=True, help=words)(command)
    return cast("F", command)


def _cancel_and_wait(
    caller: Caller,
    find: Callable[[Database], Job],
    how: How,
    ended: set[JobId] | None = None,
) -> int:
    """Cancel the job that `find` returns, wait until all of it has ended, and print it.

    `ended` gets it, and the jobs of its agent that have ended with it. Returns the exit
    code. Raises NothingToCancel, TooLate, StateError; what has ended is
    printed before.
    """
    with closing(open_queue(caller.workspace)) as database:
        try:
            with detaching_signals():
                cancelled = cancel_to_end(
                    caller,
                    database,
                    find(database),
                    keep_children=how.keep_children,
                    on_tick=lambda _: leave_if_nobody_waits(),
                )
            _show(caller, database, cancelled, as_json=how.as_json)
            _see_to_batches(caller, database, cancelled, end=how.with_batches)
            if ended is not None:
                family = (cancelled.job, *cancelled.children)
                ended.update(job.id for job in family if job.state.is_final)
        except GONE:
            return int(ExitCode.INTERRUPTED)
        except NothingToCancel as refusal:
            if refusal.ended is not None and refusal.ended.state is JobState.CANCELLED:
                _is_told(caller, database, refusal.ended)  # the refusal tells it
            raise
        for job in cancelled.ending:
            raise not_ended(caller, database, job)
    if cancelled.job.state is not JobState.CANCELLED:
        raise TooLate(cancelled.job, cancelled.job.outcome_status)
    return int(ExitCode.OK)


def cancel_tasks(caller: Caller, task_ids: Sequence[TaskId], how: How) -> int:
    """Cancel the job of each task, one after the other, and print each; return the exit code.

    A job that has ended with an earlier one of them, because it is one merge
    of both or that one's agent had queued it, was printed with that.
    """
    ended: set[JobId] = set()

    def cancel(task_id: TaskId) -> int:
        if _newest(caller, task_id) in ended:
            return int(ExitCode.OK)
        return _cancel_and_wait(
            caller, lambda database: job_to_cancel(caller, database, task_id), how, ended
        )

    return for_each(task_ids, cancel, as_json=how.as_json)


def _see_to_batches(caller: Caller, database: Database, cancelled: Cancelled, *, end: bool) -> None:
    """End the batches that the cancelled agents have made, or say that they go on."""
    job_ids = [job.id for job in (cancelled.job, *cancelled.children)]
    for batch in batches.made_by(database, job_ids):
        if end:
            cancel_batch(caller, database, batch)
            click.echo(f"Note: batch {batch.id}, which it has made, is cancelled", err=True)
        else:
            command = f"sow batch cancel {batch.label}"
            click.echo(
                f"Note: batch {batch.id}, which it has made, goes on; to end it: `{command}`",
                err=True,
            )


def _newest(caller: Caller, task_id: TaskId) -> JobId | None:
    with closing(open_queue(caller.workspace)) as database:
        project_id = ProjectId(read_project(caller.workspace).id)
        job = jobs.last_job(database, project_id, task_id)
    return job.id if job is not None else None


def _show(caller: Caller, database: Database, cancelled: Cancelled, *, as_json: bool) -> None:
    """Print what has ended, and what goes on; nobody is owed the outcomes after that.

    A job that has not ended, or not by us, is told by the error that follows.
    """
    is_cancelled = cancelled.job.state is JobState.CANCELLED
    shown = [*([cancelled.job] if is_cancelled else []), *cancelled.children]
    shown = [job for job in shown if job.state.is_final]
    if as_json and is_cancelled:
        echo_json(_view(caller, database, cancelled))
    elif not as_json:
        for job in shown:
            outcome = outcome_of(job, jobs.attempts(database, job.id))
            click.echo(line_of(outcome, now=caller.now(), paint=shown_state))
        for job in cancelled.kept:
            state = "open on a terminal" if kind_of(job).is_interactive else job.state
            click.echo(f"{job.task_id or 'project'} goes on (job {job.id}, {state})")
    if sys.stdout is not None:
        sys.stdout.flush()
    for job in shown:
        _is_told(caller, database, job)


def _is_told(caller: Caller, database: Database, job: Job) -> None:
    waiters.strike_gone(database, caller.workspace, job.id, escrow=caller.escrow, now=caller.now())


def _view(caller: Caller, database: Database, cancelled: Cancelled) -> CancelledView:
    job = cancelled.job
    children, kept = (
        read_views(caller.workspace, database, some, caller.now())
        for some in (cancelled.children, cancelled.kept)
    )
    return cancelled_view(job, jobs.attempts(database, job.id), children, kept)


@click.command()
@click.argument("tasks", metavar="[TASK]...", nargs=-1, shell_complete=completing.tasks)
@ids_option
@click.option(
    "--all",
    "all_live",
    is_flag=True,
    help="Every task of the project with a live job, and the project itself.",
)
@_cancel_options
def cancel_agent(
    tasks: tuple[str, ...], task_options: tuple[str, ...], all_live: bool, how: How
) -> int:
    """End the job of each TASK: at once if it waits, with its whole process tree if it runs.

    Waits up to a minute for each to end. The task is then paused, or as it was if
    the agent never ran. The jobs that its agent has queued are cancelled too, and
    the jobs that those have queued; each is named. A session that is open on a
    terminal is not closed. A batch that the agent has started continues, unless
    --with-batches ends it. Exit 0 when all are cancelled, 4 when there is nothing
    to cancel or the agent has reported.
    """
    caller = this_caller()
    task_ids = all_or_named(caller, tasks, task_options, all_live=all_live, and_project=True)
    return cancel_tasks(caller, task_ids, how)


@click.command()
@click.argument("job_id", metavar="JOB", shell_complete=completing.active_jobs)
@_cancel_options
def cancel_job(job_id: str, how: How) -> int:
    """End JOB: at once if it waits, with its whole process tree if it runs.

    Waits up to a minute for its end. The same as `sow agent cancel`, for a job by
    its number. The job can also be of a project that is not checked out; its task
    is updated when that project is checked out. Exit 0 when it is cancelled, 4
    when it has ended or its agent has reported.
    """
    caller = this_caller()
    return _cancel_and_wait(caller, lambda database: find_job(database, job_id), how)
