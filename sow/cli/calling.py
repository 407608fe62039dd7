"""One call from its placing to its outcome, shared by spawn, resume and wait.

Owns what a waiting caller sees and prints, its time limit, and its detaching
on signals. The steps themselves are `sow.sessions`.
"""

import os
import signal
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from sow.cli.arguments import working_folder
from sow.cli.output import echo_json
from sow.cli.progress import ProgressLine
from sow.config.durations import parse_duration
from sow.errors import ExitCode, SowError, UsageError
from sow.ids import JobId
from sow.jobs import jobs
from sow.jobs.database import Database, open_queue
from sow.jobs.faults import QueueReplaced
from sow.schema.job import Job
from sow.sessions.caller import Caller, find_caller
from sow.sessions.outcome import Outcome, combined_exit_code, line_of, outcome_of
from sow.sessions.request import Placed, Request
from sow.sessions.settled import place_when_settled
from sow.sessions.staffing import Staffing
from sow.sessions.wait import Detached, Progress, Waiter, shell_bound

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
    return find_caller(os.environ, working_folder())


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
    staffing = Staffing(caller, config, database)
    tasks = [request.task_id for request in requests]
    with detaching_signals(), closing(database), naming_tasks(tasks):
        try:
            if options.detach:
                placed, failures = _place_all(caller, database, config, requests, None)
                _staff_detached(staffing)
                return _print_queued(placed, options) or _first_exit_code(failures)
            with Waiter(caller, database) as waiter:
                placed, failures = _place_all(caller, database, config, requests, waiter)
                code = wait_for(waiter, staffing, placed, options, bound)
        except (KeyboardInterrupt, Detached):
            return say_detached(tasks)
    return combined_exit_code([code, *(int(error.exit_code) for error in failures)])


def _place_all(
    caller: Caller,
    database: Database,
    config: Any,
    requests: Sequence[Request],
    waiter: Waiter | None,
) -> tuple[list[Placed], list[SowError]]:
    """Place the requests; of several, one that is refused does not stop the others."""
    placed: list[Placed] = []
    failures: list[SowError] = []
    for request in requests:
        try:
            placed.append(place_when_settled(caller, database, config, request, waiter))
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
    waiter: Waiter,
    staffing: Staffing,
    placed: Sequence[Placed],
    options: WaitOptions,
    bound: float | None,
) -> int:
    """Wait for the placed jobs, print each outcome when it comes; return the combined exit code."""
    if not placed:
        return int(ExitCode.OK)
    database, owed = waiter.database, {one.job.id for one in placed if one.owed}
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
            waiter.delivered(job.id)

        left = waiter.wait(seconds=bound, any_one=options.any_one, on_tick=tick, on_end=deliver)
    if left and not (options.any_one and codes):
        codes += _print_running(database, left, options)
    return combined_exit_code(codes)


def _outcome(database: Database, job: Job, owed: Collection[JobId] = ()) -> Outcome:
    return outcome_of(job, jobs.attempts(database, job.id), owed=job.id in owed)


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
    codes = [_print(_outcome(database, job), options) for job in left]
    if not options.as_json:
        click.echo(f"sow agent wait {' '.join(job.task_id for job in left)}")
    return codes


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
    """Turn the first INT, TERM or HUP into an exception, so that the caller goes in good order.

    What follows is ignored: a terminal that closes sends several.
    """

    def interrupt(signum: int, _frame: object) -> None:
        for each in DETACHING:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt(signum)

    before = {signum: signal.signal(signum, interrupt) for signum in DETACHING}
    try:
        yield
    finally:
        for signum, handler in before.items():
            if signal.getsignal(signum) is interrupt:  # else we are on our way out
                signal.signal(signum, handler)


@contextmanager
def naming_tasks(task_ids: Sequence[str]) -> Iterator[None]:
    """Have a call whose queue is gone say which tasks tell how its agents stand."""
    try:
        yield
    except QueueReplaced as error:
        raise QueueReplaced(error.path, task_ids) from error


def say_detached(task_ids: Sequence[str]) -> int:
    """Tell a person how to wait again and how to cancel; return the exit code."""
    tasks = " ".join(task_ids)
    lines = [f"\nDetached; what was queued goes on. To wait again: `sow agent wait {tasks}`."]
    lines += [f"To end it: `sow agent cancel {task_id}`." for task_id in task_ids]
    with suppress(OSError):  # the terminal may be gone: that is why we detach
        click.echo("\n".join(lines), err=True)
    return int(ExitCode.INTERRUPTED)
