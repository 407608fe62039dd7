"""`sow agent open`."""

import sys
from contextlib import closing

from sow.calls.admission import ENDED
from sow.calls.open import open_session
from sow.cli import late_click as click
from sow.cli.arguments import task_argument, this_caller
from sow.cli.output import echo_result, json_option, shown_state
from sow.errors import ExitCode, UsageError
from sow.ids import TaskId
from sow.jobs import jobs
from sow.jobs.database import open_queue
from sow.reports.outcome import line_of
from sow.reports.views import outcome_of
from sow.state.tasks import read_task


@click.command("open")
@task_argument
@json_option
def open_task(task_id: TaskId, as_json: bool) -> int:
    """Continue the session of TASK yourself: its CLI, interactive, on this terminal.

    Meanwhile nobody else can spawn, resume or end the task. A status that you set
    in the session is kept; otherwise the task stays as it was. Nothing is queued,
    and no worker is needed.

    Exit: 0 when it was closed, 1 if the CLI failed, 4 while a job of the
    task runs, 5 without a session, or for an executor that has a sandbox or whose
    CLI has no interactive mode.
    """
    caller = this_caller()
    if not (sys.stdin and sys.stdin.isatty()):
        found = read_task(caller.workspace, task_id)
        words = f' Without one, give it your words: `sow agent resume {task_id} "…"`.'
        can_resume = found.session_started and found.status not in ENDED
        raise UsageError(
            "opening a session needs a terminal",
            hint=f"Run it on a terminal.{words if can_resume else ''}",
        )
    config = caller.load_configuration()
    with closing(open_queue(caller.workspace)) as database:
        job, code = open_session(caller, database, config, task_id)
        outcome = outcome_of(job, jobs.attempts(database, job.id))
    line = line_of(outcome, now=caller.now(), paint=shown_state)
    echo_result(outcome, line, as_json=as_json)
    if code:
        click.echo(f"Warning: {job.agents_executor.name} ended with exit code {code}", err=True)
    return int(ExitCode.FAILED if code else ExitCode.OK)
