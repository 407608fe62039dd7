"""The commands that call: spawn, resume and wait, as a person or a program sees them.

Owns the options of a call, what it prints and when, and its exit code. The
steps of the call are `sow.calls.call`; how it goes away is `detaching`.
"""

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import closing

import click
import msgspec

from sow.calls.autostart import NoWorker
from sow.calls.call import Listener, Result, Terms, call, wait_for_jobs, wait_for_tasks
from sow.calls.caller import Caller, find_caller
from sow.calls.course import Course, begin
from sow.calls.request import Placed, Request
from sow.calls.wait import Progress
from sow.cli.arguments import working_folder
from sow.cli.detaching import (
    GONE,
    detaching_signals,
    leave_if_unread,
    naming_tasks,
    say_detached,
)
from sow.cli.failure import show_refusal
from sow.cli.output import echo_json, shown_state
from sow.cli.progress import ProgressLine
from sow.cli.wait_options import WaitOptions, bound_of
from sow.clock import utc_now
from sow.errors import SowError
from sow.ids import JobId, TaskId
from sow.jobs import jobs
from sow.jobs.database import Database, open_queue
from sow.reports.agents_words import words_below
from sow.reports.outcome import combined_exit_code, line_of
from sow.reports.views import outcome_of
from sow.schema.output.jobs import Outcome


def this_caller() -> Caller:
    """Return the surroundings of this process's call. Raises StateError without a workspace."""
    return find_caller(os.environ, working_folder())


def place_and_wait(caller: Caller, requests: Sequence[Request], options: WaitOptions) -> int:
    """Place every request, wait, print each outcome when it comes; return the exit code."""
    terms = _terms(options, caller)
    config = caller.load_configuration()
    for warning in config.warnings:
        click.echo(f"Warning: {warning}", err=True)

    def run(database: Database, listener: Listener, course: Course) -> Result:
        return call(caller, database, config, requests, terms, listener, course)

    return _run(caller, options, lambda database: begin(database, requests), run)


def wait_for(caller: Caller, task_ids: Sequence[TaskId], options: WaitOptions) -> int:
    """Wait for the newest job of each task, print each outcome; return the exit code."""
    terms = _terms(options, caller)
    config = caller.load_configuration()

    def run(database: Database, listener: Listener, course: Course) -> Result:
        return wait_for_tasks(caller, database, config, terms, listener, course)

    return _run(caller, options, lambda _: Course(task_ids), run)


def wait_for_numbers(caller: Caller, job_ids: Sequence[JobId], options: WaitOptions) -> int:
    """Wait for jobs by their numbers, print each outcome; return the exit code."""
    terms = _terms(options, caller)
    config = caller.load_configuration()

    def run(database: Database, listener: Listener, course: Course) -> Result:
        return wait_for_jobs(caller, database, config, terms, listener, course)

    return _run(caller, options, lambda _: Course([], job_ids=job_ids), run)


def _terms(options: WaitOptions, caller: Caller) -> Terms:
    return Terms(
        seconds=bound_of(options, caller),
        detach=options.detach,
        any_one=options.any_one,
        strikes_all=options.strikes_all,
    )


def _run(
    caller: Caller,
    options: WaitOptions,
    course_of: Callable[[Database], Course],
    run: Callable[[Database, Listener, Course], Result],
) -> int:
    """Let a call run with this process's terminal, signals and standard output."""
    database = open_queue(caller.workspace)
    with closing(database):
        course = course_of(database)
        with detaching_signals(), naming_tasks(caller, database, course.task_ids):
            try:
                with ProgressLine(caller.workspace, database) as line:
                    listener = _listener(options, line, several=course.is_of_several)
                    result = run(database, listener, course)
                return _conclude(database, result, options)
            except GONE:
                return say_detached(caller, database, course, options)


def _listener(options: WaitOptions, line: ProgressLine, *, several: bool) -> Listener:
    """Return who prints what a call tells, of one task or of several."""

    def placed(found: Placed) -> None:
        line.clear()
        for note in found.notes:
            click.echo(f"Note: {note}", err=True)
        if found.attached:
            does = "attached to" if options.detach else "waiting for"
            click.echo(f"Note: {does} job {found.job.id}, which the same call queued", err=True)

    def refused(task_id: TaskId, error: SowError) -> None:
        line.clear()
        show_refusal(task_id, error, as_json=options.as_json)

    def unstaffed(error: NoWorker) -> None:
        click.echo(f"Note: {error.message}. {error.hint}", err=True)

    def progress(progress: Progress) -> None:
        line.show(progress)
        leave_if_unread()

    def ended(outcome: Outcome) -> None:
        line.clear()
        _print(outcome, options)
        for words in [] if options.as_json else words_below(outcome, among_others=several):
            click.echo(words, err=True)  # standard output has a line for each outcome
        if sys.stdout is not None:  # whoever started us may have closed it
            sys.stdout.flush()

    return Listener(placed, refused, unstaffed, progress, ended)


def _conclude(database: Database, result: Result, options: WaitOptions) -> int:
    """Print what a call has left, and return its exit code."""
    refused = [int(error.exit_code) for error in result.refused]
    if options.detach:
        _print_queued(database, result.placed, options)
        return combined_exit_code((), refused)
    codes = [outcome.exit_code or 0 for outcome in result.ended]
    if result.left and options.any_one and codes:
        _note_going_on(result.left, options)
    elif result.left:
        codes += _print_running(result.left, options)
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


def _print_running(left: Sequence[Outcome], options: WaitOptions) -> list[int]:
    """Print what still runs, and last the command that goes on waiting; return the exit codes."""
    command = _waiting(left, options)
    for outcome in left:
        _print(msgspec.structs.replace(outcome, continue_with=command), options)
    if not options.as_json:
        click.echo(command)
    return [outcome.exit_code or 0 for outcome in left]


def _note_going_on(left: Sequence[Outcome], options: WaitOptions) -> None:
    """Say how to wait for the others, where one that has ended was enough.

    On stderr: a last line on stdout is the command of a call that exits with 75.
    """
    command = _waiting(left, options)
    click.echo(f"Note: the others go on; to wait for them: `{command}`", err=True)


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
