"""What a call prints of its jobs: how each has ended, where the others stand, how to go on waiting.

Owns the words and the exit code that they come to. `calling` imports it once the
call's jobs are queued: until one of them ends it has nothing else to do.
"""

import os
import sys
from collections.abc import Sequence

import msgspec

from sow import env_vars
from sow.calls.call import Result
from sow.calls.request import Placed
from sow.cli import late_click as click
from sow.cli.call_options import WaitOptions
from sow.cli.output import echo_json, shown_state
from sow.clock import utc_now
from sow.jobs import jobs
from sow.jobs.database import Database
from sow.reports.agents_words import words_below
from sow.reports.outcome import combined_exit_code, line_of
from sow.reports.views import outcome_of
from sow.schema.output.outcome import Outcome


def print_ended(outcome: Outcome, options: WaitOptions, *, among_others: bool) -> None:
    """Print how a job has ended; what its agent says of it goes to standard error."""
    _print(outcome, options)
    for words in [] if options.as_json else words_below(outcome, among_others=among_others):
        click.echo(words, err=True)  # standard output has a line for each outcome
    if sys.stdout is not None:  # whoever started us may have closed it
        sys.stdout.flush()


def conclude(database: Database, result: Result, options: WaitOptions) -> int:
    """Print what a call has left, and return its exit code."""
    refused = [int(error.exit_code) for error in result.refused]
    if options.detach:
        _print_queued(database, result.placed, options)
        return combined_exit_code((), refused)
    codes = [outcome.exit_code or 0 for outcome in result.ended]
    if result.left and options.any_one and codes:
        # On stderr: a last line on stdout is the command of a call that exits with 75.
        words = f"to wait for them: `{_waiting(result.left, options)}`"
        click.echo(f"Note: the others continue; {words}", err=True)
    elif result.left:
        codes += _print_running(result, options)
    return combined_exit_code(codes, refused)


def _print(outcome: Outcome, options: WaitOptions) -> None:
    if options.as_json:
        echo_json(outcome)
        return
    click.echo(line_of(outcome, now=utc_now(), paint=shown_state))
    for warning in outcome.warnings:
        if not (outcome.reason and warning.endswith(outcome.reason)):  # it stands in the line
            click.echo(f"Warning: {outcome.task or 'project'}: {warning}", err=True)
    rest = outcome.reason.strip().splitlines()[1:]
    if rest:
        click.echo("\n".join(rest), err=True)


def _print_running(result: Result, options: WaitOptions) -> list[int]:
    """Print what still runs, and last the command that goes on waiting; return the exit codes.

    Where nothing goes on before somebody has done something, that comes first in it.
    """
    waiting = _waiting(result.left, options)
    command = f"{result.first} && {waiting}" if result.first else waiting
    for outcome in result.left:
        _print(msgspec.structs.replace(outcome, continue_with=command), options)
    if not options.as_json:
        click.echo(_last_line(result.first, waiting) if result.first else command)
    return [outcome.exit_code or 0 for outcome in result.left]


def _last_line(first: str, waiting: str) -> str:
    """Return both commands as whoever reads them can use them: some are refused to programs."""
    from sow.cli.confirming import is_at_terminal
    from sow.situation.step import by_person  # few jobs wait for a command

    is_at_desk = env_vars.JOB_ID not in os.environ and is_at_terminal()
    if is_at_desk or not by_person(first):
        return f"{first} && {waiting}"
    return f"{waiting}  # before that a person has to, in a terminal: {first}"


def _waiting(left: Sequence[Outcome], options: WaitOptions) -> str:
    """Return the command that goes on waiting for what is left, as this call did."""
    return options.command_for([each.task for each in left], [each.job for each in left])


def _print_queued(database: Database, placed: Sequence[Placed], options: WaitOptions) -> None:
    found_jobs = [found.job for found in placed]
    command = options.command_for(
        [job.task_id for job in found_jobs], [job.id for job in found_jobs]
    )
    for job in found_jobs:
        if options.as_json:
            attempts = jobs.attempts(database, job.id)
            echo_json(outcome_of(job, attempts, continue_with=command, waited=False))
        else:
            click.echo(f"{job.task_id or 'project'} {job.state} (job {job.id})")
