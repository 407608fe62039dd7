"""One call from its placing to its outcome, shared by spawn, resume and wait.

Owns what a waiting caller sees and prints, and its time limit. How it goes away
is `detaching`; the steps themselves are `sow.sessions`.
"""

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any

import click

from sow.calls.autostart import Staffing
from sow.calls.caller import Caller, find_caller
from sow.calls.placement_after_report import place_when_settled
from sow.calls.request import Placed, Request
from sow.calls.same_call import OutcomeIsOwed
from sow.calls.wait import Detached, Progress, Waiter
from sow.cli.arguments import working_folder
from sow.cli.detaching import detaching_signals, naming_tasks, say_detached
from sow.cli.output import echo_json
from sow.cli.progress import ProgressLine
from sow.cli.wait_options import WaitOptions, bound_of
from sow.errors import ExitCode, SowError
from sow.ids import JobId
from sow.jobs import jobs, waiters
from sow.jobs.database import Database, open_queue
from sow.reports.outcome import (
    Outcome,
    combined_exit_code,
    line_of,
    outcome_of,
)
from sow.schema.job import Job

NOTHING_OWED: Mapping[JobId, str | None] = {}


def this_caller() -> Caller:
    """Return the surroundings of this process's call. Raises StateError without a workspace."""
    return find_caller(os.environ, working_folder())


def call(caller: Caller, requests: Sequence[Request], options: WaitOptions) -> int:
    """Place every request, see to a worker, wait, print; return the exit code."""
    bound = bound_of(options, caller)
    config = caller.load_configuration()
    for warning in config.warnings:
        click.echo(f"Warning: {warning}", err=True)
    database = open_queue(caller.workspace)
    staffing = Staffing(caller, config, database)
    tasks = [request.task_id for request in requests]
    begun, newest = time.monotonic(), jobs.newest_id(database)
    ours: set[JobId] = set()
    told: set[JobId] = set()

    def time_left() -> float | None:
        return None if bound is None else max(0.0, begun + bound - time.monotonic())

    with detaching_signals(), closing(database), naming_tasks(caller, database, tasks):
        try:
            if options.detach:
                placed, failures = _place_all(
                    caller, database, config, requests, None, time_left, ours
                )
                if placed:
                    _staff_detached(staffing)
                return _print_queued(placed, options) or _first_exit_code(failures)
            with Waiter(caller, database) as waiter:
                placed, failures = _place_all(
                    caller, database, config, requests, waiter, time_left, ours
                )
                code = wait_for(waiter, staffing, placed, options, time_left(), told)
        except (KeyboardInterrupt, Detached):
            return say_detached(
                caller, database, tasks, options, told, lambda job: job > newest or job in ours
            )
    return combined_exit_code([code, *(int(error.exit_code) for error in failures)])


def _place_all(
    caller: Caller,
    database: Database,
    config: Any,
    requests: Sequence[Request],
    waiter: Waiter | None,
    time_left: Callable[[], float | None],
    ours: set[JobId],
) -> tuple[list[Placed], list[SowError]]:
    """Place the requests; of several, one that is refused does not stop the others.

    `ours` gets each job that is placed or found, at once: we may be interrupted.
    A call that does not wait (it has no waiter) is refused an outcome that is
    owed: it would queue nothing and print nothing.
    """
    placed: list[Placed] = []
    failures: list[SowError] = []
    for request in requests:
        try:
            one = place_when_settled(caller, database, config, request, waiter, seconds=time_left())
            ours.add(one.job.id)
            if one.owed and waiter is None:
                raise OutcomeIsOwed(one.job, one.anew_with)
            placed.append(one)
        except SowError as error:
            if len(requests) == 1:
                raise
            click.echo(f"Error: {request.task_id}: {error.message}\n\n{error.hint}\n", err=True)
            failures.append(error)
    for one in placed:
        for note in one.notes:
            click.echo(f"Note: {note}", err=True)
        if one.attached:
            does = "waiting for" if waiter is not None else "attached to"
            click.echo(f"Note: {does} job {one.job.id}, which the same call queued", err=True)
    return placed, failures


def wait_for(
    waiter: Waiter,
    staffing: Staffing,
    placed: Sequence[Placed],
    options: WaitOptions,
    bound: float | None,
    told: set[JobId],
) -> int:
    """Wait for the placed jobs, print each outcome when it comes; return the combined exit code.

    `told` gets each job whose outcome has been printed.
    """
    if not placed:
        return int(ExitCode.OK)
    database, owed = waiter.database, {one.job.id: one.anew_with for one in placed if one.owed}
    codes: list[int] = []
    waiter.take_up([one.job.id for one in placed])
    with ProgressLine(waiter.caller.workspace, database) as line:

        def tick(progress: Progress) -> None:
            staffing.ensure()
            line.show(progress)

        def deliver(job: Job) -> None:
            line.clear()
            codes.append(_print(_outcome(database, job, owed), options))
            if sys.stdout is not None:  # whoever started us may have closed it
                sys.stdout.flush()
            told.add(job.id)
            waiter.delivered(job.id)
            if options.strikes_all:
                waiters.strike_gone(database, waiter.caller.workspace, job.id)

        left = waiter.wait(seconds=bound, any_one=options.any_one, on_tick=tick, on_end=deliver)
    if left and not (options.any_one and codes):
        codes += _print_running(database, left, options)
    elif left:
        _note_going_on(left, options)
    return combined_exit_code(codes)


def _outcome(
    database: Database,
    job: Job,
    owed: Mapping[JobId, str | None] = NOTHING_OWED,
    command: str | None = None,
) -> Outcome:
    return outcome_of(
        job,
        jobs.attempts(database, job.id),
        owed=job.id in owed,
        anew_with=owed.get(job.id),
        continue_with=command,
    )


def _print(outcome: Outcome, options: WaitOptions) -> int:
    """Print one outcome and return its exit code."""
    if options.as_json:
        import msgspec

        echo_json(msgspec.to_builtins(outcome))
        return outcome.exit_code
    click.echo(line_of(outcome))
    for warning in outcome.warnings:
        click.echo(f"Warning: {outcome.task}: {warning}", err=True)
    rest = outcome.reason.strip().splitlines()[1:]
    if rest:
        click.echo("\n".join(rest), err=True)
    return outcome.exit_code


def _print_running(database: Database, left: Sequence[Job], options: WaitOptions) -> list[int]:
    """Print what still runs, and last the command that goes on waiting; return the exit codes."""
    command = options.command_for([job.task_id for job in left])
    codes = [_print(_outcome(database, job, command=command), options) for job in left]
    if not options.as_json:
        click.echo(command)
    return codes


def _note_going_on(left: Sequence[Job], options: WaitOptions) -> None:
    """Say how to wait for the others, where one that has ended was enough.

    On stderr: a last line on stdout is the command of a call that exits with 75.
    """
    command = options.command_for([job.task_id for job in left])
    click.echo(f"Note: the others go on; to wait for them: `{command}`", err=True)


def _print_queued(placed: Sequence[Placed], options: WaitOptions) -> int:
    command = options.command_for([one.job.task_id for one in placed])
    for one in placed:
        if options.as_json:
            import msgspec

            echo_json(msgspec.to_builtins(outcome_of(one.job, (), continue_with=command)))
        else:
            click.echo(f"{one.job.task_id} {one.job.state} (job {one.job.id})")
    return 0


def _staff_detached(staffing: Staffing) -> None:
    """Start a worker if need be; without one the job waits, which `--detach` may."""
    from sow.calls.autostart import NoWorker

    try:
        staffing.ensure()
    except NoWorker as error:
        click.echo(f"Note: {error.message}. {error.hint}", err=True)


def _first_exit_code(failures: Sequence[SowError]) -> int:
    return int(failures[0].exit_code) if failures else 0
