"""Cancelling from the command line, by task or by job: ask, wait for the end, say how it went."""

from collections.abc import Callable

import click

from sow.cli.calling import detaching_signals
from sow.cli.output import echo_json
from sow.errors import ExitCode, StateError
from sow.jobs import jobs
from sow.jobs.database import Database, open_queue
from sow.schema.job import Job, JobState
from sow.sessions.caller import Caller
from sow.sessions.cancel import TooLate, cancel_job
from sow.sessions.doubt import is_in_doubt
from sow.sessions.outcome import line_of, outcome_of
from sow.sessions.staffing import Staffing
from sow.sessions.wait import Detached, Waiter

CANCEL_SECONDS = 60.0
"""How long an agent's tree may take to end before the command says so."""


def cancel_and_wait(caller: Caller, find: Callable[[Database], Job], *, as_json: bool) -> int:
    """Cancel the job that `find` returns, wait until it has ended, and print it.

    Returns the exit code. Raises NothingToCancel, TooLate, StateError.
    """
    database = open_queue(caller.workspace)
    try:
        with detaching_signals():
            job = cancel_job(caller, database, find(database))
            if not job.state.is_final:
                job = _await_end(caller, database, job)
        outcome = outcome_of(job, jobs.attempts(database, job.id))
    except (KeyboardInterrupt, Detached):
        return int(ExitCode.INTERRUPTED)
    finally:
        database.close()
    if job.state is not JobState.CANCELLED:
        raise TooLate(job, job.outcome_status)
    if as_json:
        import msgspec

        echo_json(msgspec.to_builtins(outcome))
    else:
        click.echo(line_of(outcome))
    return int(ExitCode.OK)


def _await_end(caller: Caller, database: Database, job: Job) -> Job:
    if is_in_doubt(caller.workspace, database, job):
        raise StateError(
            f"job {job.id} is asked to end, but its agent was started in another pid namespace",
            hint="If it is gone (its container was removed, say), then "
            f"`sow job resolve {job.id} --gone`.",
        )
    staffing = Staffing(caller, caller.load_configuration(), database)
    with Waiter(caller, database) as waiter:
        waiter.begin([job.id])
        left = waiter.wait(seconds=CANCEL_SECONDS, on_tick=lambda _: staffing.ensure())
        waiter.delivered(job.id)
    if left:
        raise StateError(
            f"job {job.id} is asked to end, but its agent has not ended in {CANCEL_SECONDS:.0f} s",
            hint=f"`sow agent wait {job.task_id}` goes on waiting; `sow worker logs` may say why.",
        )
    return jobs.get_job(database, job.id)
