"""One call from its placing to its outcome, shared by spawn, resume and wait.

Owns what a waiting caller sees and prints, its time limit, and its detaching
on signals. The steps themselves are `sow.sessions`.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from sow.cli.output import echo_json
from sow.cli.progress import ProgressLine
from sow.config.durations import parse_duration
from sow.errors import ExitCode, SowError, UsageError
from sow.ids import JobId
from sow.jobs import jobs
from sow.jobs.database import Database, open_queue
from sow.schema.job import Job
from sow.sessions.caller import Caller, find_caller
from sow.sessions.outcome import Outcome, combined_exit_code, line_of, outcome_of
from sow.sessions.placement import Placed, Request
from sow.sessions.settled import place_when_settled
from sow.sessions.staffing import Staffing
from sow.sessions.wait import Detached, Waiter, shell_bound

F = TypeVar("F", bound=Callable[..., Any])

DETACHING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class WaitOptions:
    """How a call waits and speaks."""

    as_json: bool
    detach: bool = False
    any_one: bool = False
    wait: str | None = None


def wait_option(function: F) -> F:
    """Give a command `--wait`."""
    return click.option(
        "--wait",
        metavar="TIME",
        help="Wait at most this long (90s, 9m); then exit 75 while the job goes on. Also SOW_WAIT.",
    )(function)


def this_caller() -> Caller:
    """Return the surroundings of this process's call. Raises StateError without a workspace."""
    return find_caller(os.environ, Path.cwd())


def bound_of(options: WaitOptions, caller: Caller) -> float | None:
    """Return how long to wait in seconds: `--wait`, SOW_WAIT, else what the shell allows."""
    told = options.wait or caller.environ.get("SOW_WAIT")
    if not told:
        return shell_bound(caller.environ)
    try:
        return parse_duration(told)
    except ValueError:
        raise UsageError(
            f"not a length of time: {told!r}", hint="Write a number and a unit: 90s, 9m, 2h."
        ) from None


def call(caller: Caller, requests: Sequence[Request], options: WaitOptions) -> int:
    """Place every request, see to a worker, wait, print; return the exit code."""
    bound = bound_of(options, caller)
    config = caller.load_configuration()
    for warning in config.warnings:
        click.echo(f"Warning: {warning}", err=True)
    database = open_queue(caller.workspace)
    staffing = Staffing(caller, config)
    try:
        with detaching_signals():
            placed, failures = _place_all(caller, database, config, requests)
            if options.detach:
                _staff_detached(staffing)
                return _print_queued(placed, options) or _first_exit_code(failures)
            code = wait_for(caller, database, staffing, placed, options, bound)
    except (KeyboardInterrupt, Detached):
        return _say_detached([request.task_id for request in requests])
    finally:
        database.close()
    return combined_exit_code([code, *(int(error.exit_code) for error in failures)])


def _place_all(
    caller: Caller, database: Database, config: Any, requests: Sequence[Request]
) -> tuple[list[Placed], list[SowError]]:
    """Place the requests; of several, one that is refused does not stop the others."""
    placed: list[Placed] = []
    failures: list[SowError] = []
    for request in requests:
        try:
            placed.append(place_when_settled(caller, database, config, request))
        except SowError as error:
            if len(requests) == 1:
                raise
            click.echo(f"Error: {request.task_id}: {error.message}\n\n{error.hint}\n", err=True)
            failures.append(error)
    for one in placed:
        for note in one.notes:
            click.echo(f"Note: {note}", err=True)
        if one.attached:
            click.echo(f"Note: waiting for job {one.job.id}, which the same call queued", err=True)
    return placed, failures


def wait_for(
    caller: Caller,
    database: Database,
    staffing: Staffing,
    placed: Sequence[Placed],
    options: WaitOptions,
    bound: float | None,
) -> int:
    """Wait for the placed jobs and print each outcome; return the combined exit code."""
    owed = {one.job.id for one in placed if one.owed}
    waiting = [one.job.id for one in placed if one.job.id not in owed]
    ended = [one.job for one in placed if one.owed]
    if waiting:
        with Waiter(caller, database, waiting) as waiter, ProgressLine(caller.workspace) as line:

            def tick(progress: Any) -> None:
                staffing.ensure()
                line.show(progress)

            jobs_now = waiter.wait(seconds=bound, any_one=options.any_one, on_tick=tick)
            line.clear()
            codes = _print_all(database, [*ended, *jobs_now], owed, options)
            for job in jobs_now:
                if job.state.is_final:
                    waiter.delivered(job.id)
    else:
        codes = _print_all(database, ended, owed, options)
    if options.any_one and any(code != ExitCode.STILL_RUNNING for code in codes):
        codes = [code for code in codes if code != ExitCode.STILL_RUNNING]
    return combined_exit_code(codes) if codes else 0


def _print_all(
    database: Database, ended: Sequence[Job], owed: set[JobId], options: WaitOptions
) -> list[int]:
    """Print an outcome a line, those that still run last; return their exit codes."""
    outcomes = [
        outcome_of(job, jobs.attempts(database, job.id), owed=job.id in owed) for job in ended
    ]
    for outcome in outcomes:
        _print(outcome, options)
    running = [outcome.task for outcome in outcomes if outcome.continue_with]
    if running and not options.as_json and not (options.any_one and len(running) < len(outcomes)):
        click.echo(f"sow agent wait {' '.join(running)}")
    sys.stdout.flush()
    return [outcome.exit_code for outcome in outcomes]


def _print(outcome: Outcome, options: WaitOptions) -> None:
    if options.as_json:
        import msgspec

        echo_json(msgspec.to_builtins(outcome))
        return
    click.echo(line_of(outcome))
    for warning in outcome.warnings:
        click.echo(f"Warning: {outcome.task}: {warning}", err=True)
    rest = outcome.reason.strip().splitlines()[1:]
    if rest:
        click.echo("\n".join(rest), err=True)


def _print_queued(placed: Sequence[Placed], options: WaitOptions) -> int:
    for one in placed:
        if options.as_json:
            import msgspec

            echo_json(msgspec.to_builtins(outcome_of(one.job, ())))
        else:
            click.echo(f"{one.job.task_id} {one.job.state} (job {one.job.id})")
    return 0


def _staff_detached(staffing: Staffing) -> None:
    """Start a worker if need be; without one the job waits, which `--detach` may."""
    from sow.sessions.staffing import NoWorker

    try:
        staffing.ensure()
    except NoWorker as error:
        click.echo(f"Note: {error.message}. {error.hint}", err=True)


def _first_exit_code(failures: Sequence[SowError]) -> int:
    return int(failures[0].exit_code) if failures else 0


@contextmanager
def detaching_signals() -> Iterator[None]:
    """Turn INT, TERM and HUP into one exception, so that the caller goes away in good order."""

    def interrupt(signum: int, _frame: object) -> None:
        raise KeyboardInterrupt(signum)

    before = {signum: signal.signal(signum, interrupt) for signum in DETACHING}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


def _say_detached(task_ids: Sequence[str]) -> int:
    tasks = " ".join(task_ids)
    lines = [f"\nDetached; what was queued goes on. To wait again: `sow agent wait {tasks}`."]
    lines += [f"To end it: `sow agent cancel {task_id}`." for task_id in task_ids]
    with suppress(OSError):  # the terminal may be gone: that is why we detach
        click.echo("\n".join(lines), err=True)
    return int(ExitCode.INTERRUPTED)
