"""The commands that call: spawn, resume and wait, as a person or a program sees them.

Owns when something is printed. The steps of the call are `sow.calls.call`, what is
printed of outcomes is `call_outcomes`; how it goes away is `detaching`.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from msgspec.structs import replace

from sow import env_vars
from sow.calls.autostart import NoWorker
from sow.calls.call import (
    CallProgress,
    Listener,
    Result,
    Terms,
    begin,
    call,
    wait_on_record,
)
from sow.calls.caller import Caller
from sow.calls.request import Placed, Request
from sow.calls.wait import Progress
from sow.cli import late_click as click
from sow.cli.call_options import WaitOptions, bound_of
from sow.cli.detaching import (
    GONE,
    detaching_signals,
    leave_if_nobody_waits,
    naming_tasks,
    say_detached,
)
from sow.cli.failure import show_refusal
from sow.cli.progress import WaitingView
from sow.errors import SowError
from sow.ids import TaskId
from sow.jobs.database import Database, open_queue

if TYPE_CHECKING:
    from sow.config.configuration import Configuration
    from sow.schema.output.outcome import Outcome

FIRST_JOB = 1
"""The number of a queue's first job."""


def place_and_wait(caller: Caller, requests: Sequence[Request], options: WaitOptions) -> int:
    """Place every request, wait, print each outcome when it comes; return the exit code."""
    terms = _terms(options, caller)
    config = caller.load_configuration()
    for warning in config.warnings:
        click.echo(f"Warning: {warning}", err=True)

    def run(database: Database, listener: Listener, call_progress: CallProgress) -> Result:
        listener = replace(listener, placed=_noting_unaccepted(caller, config, listener.placed))
        return call(caller, database, config, requests, terms, listener, call_progress)

    return _run(caller, options, lambda database: begin(database, requests), run)


def _noting_unaccepted(
    caller: Caller, config: "Configuration", placed: Callable[[Placed], None]
) -> Callable[[Placed], None]:
    """Return a listener that also names unaccepted command lines when the first job is placed."""

    def on_placed(job_placed: Placed) -> None:
        placed(job_placed)
        if job_placed.job.id == FIRST_JOB and not job_placed.attached:
            # Once in the life of a queue.
            from sow.cli.trust_note import name_unaccepted

            name_unaccepted(caller, config)

    return on_placed


def preview_or_wait(
    caller: Caller,
    requests: Sequence[Request],
    options: WaitOptions,
    *,
    dry_run: bool,
    verbose: bool,
) -> int:
    """Place the requests and wait. `verbose` shows how they are resolved, `dry_run` no more."""
    if verbose or dry_run:
        # Few calls ask for a preview.
        from sow.cli.preview import show_dry_run, show_resolution

        for request in requests:
            if verbose:
                show_resolution(caller, request)
            if dry_run:
                show_dry_run(caller, request, as_json=options.as_json, detach=options.detach)
    return 0 if dry_run else place_and_wait(caller, requests, options)


def wait_for(caller: Caller, call_progress: CallProgress, options: WaitOptions) -> int:
    """Wait for the jobs that a call names, or its tasks' newest jobs; return the exit code.

    Each outcome is printed as it comes.
    """
    terms = _terms(options, caller)
    config = caller.load_configuration()

    def run(database: Database, listener: Listener, call_progress: CallProgress) -> Result:
        return wait_on_record(caller, database, config, terms, listener, call_progress)

    return _run(caller, options, lambda _: call_progress, run)


def _terms(options: WaitOptions, caller: Caller) -> Terms:
    return Terms(
        seconds=bound_of(options, caller),
        detach=options.detach,
        is_watched=env_vars.WATCHED in caller.environ,
        any_one=options.any_one,
        strikes_all=options.strikes_all,
    )


def _run(
    caller: Caller,
    options: WaitOptions,
    progress_of: Callable[[Database], CallProgress],
    run: Callable[[Database, Listener, CallProgress], Result],
) -> int:
    """Let a call run with this process's terminal, signals and standard output."""
    database = open_queue(caller.workspace)
    with closing(database):
        call_progress = progress_of(database)
        with detaching_signals(), naming_tasks(caller, database, call_progress.task_ids):
            try:
                with WaitingView(caller.workspace, database, as_json=options.as_json) as view:
                    listener = _listener(options, view, several=call_progress.is_of_several)
                    result = run(database, listener, call_progress)
                return _conclude(database, result, options)
            except GONE:
                return say_detached(caller, database, call_progress, options)


def _listener(options: WaitOptions, view: WaitingView, *, several: bool) -> Listener:
    """Return who prints what a call tells, of one task or of several."""

    def placed(found: Placed) -> None:
        view.clear()
        for note in found.notes:
            click.echo(f"Note: {note}", err=True)
        if found.attached:
            does = "attached to" if options.detach else "waiting for"
            click.echo(f"Note: {does} job {found.job.id}, which the same command queued", err=True)

    def refused(task_id: TaskId, error: SowError) -> None:
        view.clear()
        show_refusal(task_id, error, as_json=options.as_json)

    def unstaffed(error: NoWorker) -> None:
        view.clear()
        click.echo(f"Note: {error.message}. {error.hint}", err=True)

    def progress(progress: Progress) -> None:
        view.show(progress)
        leave_if_nobody_waits()
        # What the outcomes need takes a tenth of the placing to import: now there is time.
        from sow.cli import call_outcomes  # noqa: F401

    def ended(outcome: "Outcome") -> None:
        # Imported by now, unless the job had ended before we could begin to wait.
        from sow.cli.call_outcomes import print_ended

        view.clear()
        print_ended(outcome, options, among_others=several)

    return Listener(placed, refused, unstaffed, progress, ended)


def _conclude(database: Database, result: Result, options: WaitOptions) -> int:
    # As in `_listener`.
    from sow.cli.call_outcomes import conclude

    return conclude(database, result, options)
