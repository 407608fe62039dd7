"""`sow agent cancel`."""

import click

from sow.cli.arguments import id_option, named_task
from sow.cli.calling import detaching_signals, this_caller
from sow.cli.output import echo_json, json_option
from sow.errors import ExitCode, StateError
from sow.ids import parse_task_id
from sow.jobs import jobs
from sow.jobs.database import Database, open_queue
from sow.schema.job import Job, JobState
from sow.sessions.caller import Caller
from sow.sessions.cancel import TooLate, cancel_task
from sow.sessions.outcome import line_of, outcome_of
from sow.sessions.staffing import Staffing
from sow.sessions.wait import Detached, Waiter

CANCEL_SECONDS = 60.0
"""How long an agent's tree may take to end before the command says so."""


@click.command()
@click.argument("task", required=False)
@id_option
@json_option
def cancel(task: str | None, task_option: str | None, as_json: bool) -> int:
    """End the job of TASK: at once if it waits, with its whole process tree if it runs.

    The task is left paused, or as it was if the agent never ran. Exit 0 when
    it is cancelled, 4 when there is nothing to cancel or the agent has reported.
    """
    caller = this_caller()
    task_id = parse_task_id(named_task(task, task_option, caller.environ))
    database = open_queue(caller.workspace)
    try:
        with detaching_signals():
            job = cancel_task(caller, database, task_id)
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
    staffing = Staffing(caller, caller.load_configuration())
    with Waiter(caller, database, [job.id]) as waiter:
        left = waiter.wait(seconds=CANCEL_SECONDS, on_tick=lambda _: staffing.ensure())
        waiter.delivered(job.id)
    if left:
        raise StateError(
            f"job {job.id} is asked to end, but its agent has not ended in {CANCEL_SECONDS:.0f} s",
            hint=f"`sow agent wait {job.task_id}` goes on waiting; `sow worker logs` may say why.",
        )
    return jobs.get_job(database, job.id)
