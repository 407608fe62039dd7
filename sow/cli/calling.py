"""One call from its placing to its outcome, shared by spawn, resume and wait.

Owns what a waiting caller sees and prints, its time limit, and its detaching
on signals. The steps themselves are `sow.sessions`.
"""

import os
import signal
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any

import click

from sow.cli.arguments import working_folder
from sow.cli.output import echo_json
from sow.cli.progress import ProgressLine
from sow.cli.wait_options import WaitOptions, bound_of
from sow.errors import ExitCode, SowError
from sow.ids import JobId, ProjectId, TaskId
from sow.jobs import jobs, waiters
from sow.jobs.database import Database, open_queue
from sow.jobs.faults import QueueReplaced
from sow.schema.job import Job
from sow.sessions.caller import Caller, find_caller
from sow.sessions.outcome import (
    Outcome,
    combined_exit_code,
    line_of,
    outcome_of,
)
from sow.sessions.placement import OutcomeIsOwed
from sow.sessions.request import Placed, Request
from sow.sessions.settled import place_when_settled
from sow.sessions.staffing import Staffing
from sow.sessions.wait import Detached, Progress, Waiter
from sow.state.projects import read_project

DETACHING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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
    told: set[JobId] = set()
    with detaching_signals(), closing(database), naming_tasks(tasks):
        try:
            if options.detach:
                placed, failures = _place_all(caller, database, config, requests, None)
                if placed:
                    _staff_detached(staffing)
                return _print_queued(placed, options) or _first_exit_code(failures)
            with Waiter(caller, database) as waiter:
                placed, failures = _place_all(caller, database, config, requests, waiter)
                code = wait_for(waiter, staffing, placed, options, bound, told)
        except (KeyboardInterrupt, Detached):
            return say_detached(caller, database, tasks, options, told)
    return combined_exit_code([code, *(int(error.exit_code) for error in failures)])


def _place_all(
    caller: Caller,
    database: Database,
    config: Any,
    requests: Sequence[Request],
    waiter: Waiter | None,
) -> tuple[list[Placed], list[SowError]]:
    """Place the requests; of several, one that is refused does not stop the others.

    A call that does not wait (it has no waiter) is refused an outcome that is
    owed: it would queue nothing and print nothing.
    """
    placed: list[Placed] = []
    failures: list[SowError] = []
    for request in requests:
        try:
            one = place_when_settled(caller, database, config, request, waiter)
            if one.owed and waiter is None:
                raise OutcomeIsOwed(one.job)
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
    database, owed = waiter.database, {one.job.id for one in placed if one.owed}
    codes: list[int] = []
    waiter.take_up([one.job.id for one in placed])
    with ProgressLine(waiter.caller.workspace, database) as line:

        def tick(progress: Progress) -> None:
            staffing.ensure()
            line.show(progress)

        def deliver(job: Job) -> None:
            line.clear()
            codes.append(_print(_outcome(database, job, options, owed), options))
            if sys.stdout is not None:  # whoever started us may have closed it
                sys.stdout.flush()
            told.add(job.id)
            waiter.delivered(job.id)
            if options.strikes_all:
                waiters.strike_gone(database, waiter.caller.workspace, job.id)

        left = waiter.wait(seconds=bound, any_one=options.any_one, on_tick=tick, on_end=deliver)
    if left and not (options.any_one and codes):
        codes += _print_running(database, left, options)
    return combined_exit_code(codes)


def _outcome(
    database: Database,
    job: Job,
    options: WaitOptions,
    owed: Collection[JobId] = (),
    command: str | None = None,
) -> Outcome:
    return outcome_of(
        job,
        jobs.attempts(database, job.id),
        owed=job.id in owed,
        anew_with=options.anew_with,
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
    codes = [_print(_outcome(database, job, options, command=command), options) for job in left]
    if not options.as_json:
        click.echo(command)
    return codes


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


def say_detached(
    caller: Caller,
    database: Database,
    task_ids: Sequence[TaskId],
    options: WaitOptions,
    told: Collection[JobId],
) -> int:
    """Tell a person how to wait again and how to cancel; return the exit code.

    Named are the tasks that there is something to wait for: not those whose
    outcome was `told`, nor those that no job was placed for before we went.
    """
    left = _to_wait_for(caller, database, task_ids, told)
    if left:
        lines = [
            f"\nDetached; what was queued goes on. To wait again: `{options.command_for(left)}`."
        ]
        lines += [f"To end it: `sow agent cancel {task_id}`." for task_id in left]
    else:
        lines = ["\nDetached; nothing was queued that is still to be told."]
    with suppress(OSError):  # the terminal may be gone: that is why we detach
        click.echo("\n".join(lines), err=True)
    return int(ExitCode.INTERRUPTED)


def _to_wait_for(
    caller: Caller, database: Database, task_ids: Sequence[TaskId], told: Collection[JobId]
) -> list[TaskId]:
    try:
        project_id = ProjectId(read_project(caller.workspace).id)
        last = {task_id: jobs.last_job(database, project_id, task_id) for task_id in task_ids}
    except SowError:  # nobody can tell now: rather one name too many
        return list(task_ids)
    return [task_id for task_id, job in last.items() if job is not None and job.id not in told]
