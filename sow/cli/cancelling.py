"""Cancelling from the command line, by task or by job: ask, wait for the end, say how it went."""

import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from sow.calls.autostart import Staffing
from sow.calls.caller import Caller
from sow.calls.cancel import Cancelled, NothingToCancel, TooLate, cancel_job
from sow.calls.wait import Detached, Waiter
from sow.cli.detaching import detaching_signals
from sow.cli.output import echo_json
from sow.errors import ExitCode, StateError
from sow.jobs import jobs, waiters
from sow.jobs.database import Database, open_queue
from sow.jobs.unverifiable import is_in_doubt
from sow.reports.outcome import line_of, outcome_of
from sow.schema.job import Job, JobState

CANCEL_SECONDS = 60.0
"""How long an agent's tree may take to end before the command says so."""

keep_children_option = click.option(
    "--keep-children", is_flag=True, help="Leave the jobs that its agent has queued."
)


def cancel_and_wait(
    caller: Caller, find: Callable[[Database], Job], *, keep_children: bool, as_json: bool
) -> int:
    """Cancel the job that `find` returns, wait until all of it has ended, and print it.

    Returns the exit code. Raises NothingToCancel, TooLate, StateError; what
    has ended is printed before.
    """
    database = open_queue(caller.workspace)
    try:
        with detaching_signals():
            cancelled = cancel_job(caller, database, find(database), keep_children=keep_children)
            _await_end(caller, database, cancelled.ending)
            cancelled = _as_it_stands(database, cancelled)
        _show(caller, database, cancelled, as_json=as_json)
    except (KeyboardInterrupt, Detached):
        return int(ExitCode.INTERRUPTED)
    except NothingToCancel as refusal:
        if refusal.ended is not None and refusal.ended.state is JobState.CANCELLED:
            waiters.strike_gone(database, caller.workspace, refusal.ended.id)  # it says so
        raise
    finally:
        database.close()
    for job in cancelled.ending:
        raise _not_ended(caller, job)
    if cancelled.job.state is not JobState.CANCELLED:
        raise TooLate(cancelled.job, cancelled.job.outcome_status)
    return int(ExitCode.OK)


def _await_end(caller: Caller, database: Database, ending: Sequence[Job]) -> None:
    """Wait until the jobs have ended, save those of which nobody can tell whether they run."""
    awaited = [job for job in ending if not is_in_doubt(caller.workspace, database, job)]
    if not awaited:
        return
    staffing = Staffing(caller, caller.load_configuration(), database)
    with Waiter(caller, database) as waiter:
        waiter.begin([job.id for job in awaited])
        waiter.wait(seconds=CANCEL_SECONDS, on_tick=lambda _: staffing.ensure())
        for job in awaited:
            waiter.delivered(job.id)


def _as_it_stands(database: Database, cancelled: Cancelled) -> Cancelled:
    return Cancelled(
        job=jobs.get_job(database, cancelled.job.id),
        children=tuple(jobs.get_job(database, job.id) for job in cancelled.children),
        kept=tuple(jobs.get_job(database, job.id) for job in cancelled.kept),
    )


def _show(caller: Caller, database: Database, cancelled: Cancelled, *, as_json: bool) -> None:
    """Print what has ended, and what goes on; nobody is owed the outcomes after that.

    A job that has not ended, or not by us, is told by the error that follows.
    """
    is_cancelled = cancelled.job.state is JobState.CANCELLED
    shown = [*([cancelled.job] if is_cancelled else []), *cancelled.children]
    shown = [job for job in shown if job.state.is_final]
    if as_json and is_cancelled:
        echo_json(_record(database, cancelled))
    elif not as_json:
        for job in shown:
            click.echo(line_of(outcome_of(job, jobs.attempts(database, job.id))))
        for job in cancelled.kept:
            click.echo(f"{job.task_id} goes on (job {job.id}, {_how(job)})")
    if sys.stdout is not None:
        sys.stdout.flush()
    for job in shown:
        waiters.strike_gone(database, caller.workspace, job.id)


def _how(job: Job) -> str:
    return "open on a terminal" if job.verb == "open" else job.state.value


def _record(database: Database, cancelled: Cancelled) -> dict[str, Any]:
    import msgspec

    outcome = outcome_of(cancelled.job, jobs.attempts(database, cancelled.job.id))
    return {
        **msgspec.to_builtins(outcome),
        "children": [_child(job) for job in cancelled.children],
        "kept": [_child(job) for job in cancelled.kept],
    }


def _child(job: Job) -> dict[str, Any]:
    return {
        "task": job.task_id,
        "job": job.id,
        "verb": job.verb.value,
        "state": job.state.value,
        "status": job.outcome_status.value if job.outcome_status else None,
    }


def _not_ended(caller: Caller, job: Job) -> StateError:
    """Return what to say of a job that was asked to end and has not."""
    database = open_queue(caller.workspace)
    try:
        doubtful = is_in_doubt(caller.workspace, database, job)
    finally:
        database.close()
    asked = f"job {job.id} of task {job.task_id} is asked to end"
    if doubtful:
        return StateError(
            f"{asked}, but its agent was started in another pid namespace",
            hint="If it is gone (its container was removed, say), then "
            f"`sow job resolve {job.id} --gone`.",
        )
    return StateError(
        f"{asked}, but its agent has not ended in {CANCEL_SECONDS:.0f} s",
        hint=f"`sow agent wait {job.task_id}` goes on waiting; `sow worker logs` may say why.",
    )
