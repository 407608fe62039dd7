"""A batch as a person reads it: its table, and a line for each item that wants somebody.

Owns these lines. How a command waits for a batch is `batch_waiting`.
"""

import shlex
from collections.abc import Mapping, Sequence

import msgspec

from sow.batches.gathering import Seen
from sow.batches.views import detail_of, listed, standings_of, view_of
from sow.calls.batch_look import Work
from sow.calls.batch_wait import BatchLook, look_surely
from sow.calls.caller import Caller
from sow.cli import late_click as click
from sow.cli.call_options import WaitOptions
from sow.cli.output import echo_json, echo_table, shown_state
from sow.clock import format_duration, utc_now
from sow.errors import ExitCode
from sow.jobs import batches, workers
from sow.jobs.database import Database
from sow.lifecycle.refusal_steps import after
from sow.schema.batch import Batch, BatchState, label_of
from sow.schema.output.batches import BatchDetail, BatchItemView, BatchView
from sow.schema.output.hosts import SilentHost
from sow.terminal_text import printable, printable_lines

HEADER = ("TASK", "ROLE", "STATE", "STATUS", "ITERATION", "ATTEMPTS", "TIME", "TOKENS", "COST")
SPARE = ("STATUS", "ROLE")
ELSEWHERE = "its project is not checked out here; it continues when it is"


def waiting_words(label: str, options: WaitOptions) -> str:
    """Return the command that waits for a batch again."""
    words = ["sow", "batch", "wait", label]
    words += ["--wait", options.wait] if options.wait else []
    words += ["--json"] if options.as_json else []
    return shlex.join(words)


def show(caller: Caller, database: Database, found: BatchLook, options: WaitOptions) -> int:
    """Print a batch as it stands; return the exit code."""
    detail = detail_of(
        caller.workspace,
        database,
        found.batch,
        found.plan,
        found.seen,
        rests=found.rests,
        waits=ELSEWHERE if found.is_elsewhere else "",
        now=caller.now(),
        has_worker=bool(workers.staff(database, caller.workspace, everywhere=True)),
        first=_first_commands(caller, database, found),
    )
    goes_on = detail.exit_code == ExitCode.STILL_RUNNING
    # It was to be on record, and it is, whether an agent or a person is next.
    if options.detach and found.batch.state is BatchState.RUNNING:
        detail = msgspec.structs.replace(detail, exit_code=int(ExitCode.OK))
    if options.as_json:
        echo_json(detail)
    else:
        print_batch(detail)
        if goes_on:
            click.echo(waiting_words(found.batch.label, options))
    return detail.exit_code


def _first_commands(caller: Caller, database: Database, found: BatchLook) -> Mapping[str, str]:
    """Return what helps each item whose next step would be refused again, as `sow next` does."""
    if found.plan is None or found.batch.state.has_ended:
        return {}
    if not any(item.refusal for item in batches.items_of(database, found.batch.id)):
        return {}
    # Few batches have a step that was refused.
    from sow.calls.batch_turn import refusals_now

    work = Work(caller, database, found.config, found.batch)
    refused = refusals_now(work, found.seen)
    helps = {task: after(error) for task, error in refused.items() if error is not None}
    return {task: steps[0].command for task, steps in helps.items() if steps}


def staff(caller: Caller, database: Database) -> None:
    """Start a worker if need be; without one the batch waits, which a call that detaches may."""
    # Whoever only looks at a batch starts none.
    from sow.calls.autostart import NoDriver, NoWorker, Staffing

    try:
        Staffing(caller, caller.load_configuration(), database, drives=True).ensure()
    except NoDriver as error:
        click.echo(f"Note: {error.message}. {error.hint}", err=True)
    except NoWorker:
        words = "no worker runs and worker.autostart is off; `sow worker` drives the batch"
        click.echo(f"Note: {words}", err=True)


def short_of(caller: Caller, database: Database, batch: Batch, seen: Seen) -> BatchView:
    """Return a batch in short, as a look at it finds it; one that has ended as it is on record."""
    if batch.state.has_ended:
        return listed(database, batch.project_id, [batch])[0]
    found = look_surely(caller, database, caller.load_configuration(), batch.id, seen)
    states = [each.state for each in standings_of(database, found.batch, found.plan)]
    waits = ELSEWHERE if found.is_elsewhere else ""
    return view_of(found.batch, states, rests=found.rests, waits=waits)


def print_batch(detail: BatchDetail) -> None:
    """Print a batch's table, and what it wants of a person."""
    name = f" {printable(detail.name)}" if detail.name else ""
    counts = ", ".join(f"{count} {state}" for state, count in detail.counts.items()) or "no task"
    why = f" ({printable(detail.reason.partition(chr(10))[0])})" if detail.reason else ""
    click.echo(f"Batch {detail.batch}{name} is {shown_state(detail.state)}{why}: {counts}")
    if detail.items:
        _print_table(detail.items)
    for item in detail.items:
        _print_wish(item)
    for why, tasks in detail.unserved.items():
        click.echo(f"{', '.join(tasks)} waits for a host: {printable(why)}")
    if detail.silent_hosts:
        _print_silent(detail.silent_hosts)
    if detail.state == "paused":
        click.echo(f"To continue it: sow batch resume {_label(detail)}")
    elif detail.state in ("over", "cancelled") and detail.exit_code:
        click.echo("To run the remaining tasks: sow batch run")
    elif detail.state == "running" and not detail.rests and not detail.has_worker:
        click.echo("No worker is alive to drive it. To start one: sow worker --background")
    elif detail.state == "running" and not detail.items:
        click.echo(f"To end it: sow batch cancel {_label(detail)}")


def _print_table(items: Sequence[BatchItemView]) -> None:
    """Print a row for each task; with its host, where hosts share the queue."""
    if not any(item.host for item in items):
        echo_table(HEADER, map(_row, items), ["STATE", "STATUS"], SPARE)
        return
    from sow.jobs.hosts import node_of  # few queues are shared

    rows = [(*_row(item), node_of(item.host or "-")) for item in items]
    echo_table((*HEADER, "HOST"), rows, ["STATE", "STATUS"], SPARE)


def _print_silent(hosts: Sequence[SilentHost]) -> None:
    from sow.reports.live_job_words import silence_of  # of shared queues

    for host in hosts:
        click.echo(printable(silence_of(host, utc_now())))


def _label(detail: BatchDetail) -> str:
    return label_of(detail.batch, detail.name, has_ended=detail.ended_at is not None)


def _row(item: BatchItemView) -> tuple[str, ...]:
    return (
        item.task,
        item.agent or "-",
        item.state,
        item.status or "-",
        str(item.iteration),
        str(item.attempt_count),
        format_duration(item.seconds),
        "-" if item.token_count is None else f"{item.token_count:,}",
        "-" if item.cost_usd is None else f"{'~' * item.is_estimate}${item.cost_usd:.2f}",
    )


def _print_wish(item: BatchItemView) -> None:
    """Print what a person should look at in an item, what it wants, or why it came to nothing."""
    if item.steers:
        named = ", ".join(map(printable, item.steers))
        click.echo(f"{item.task} steers agents or machines: {named}")
    waits = item.state == "waiting" and item.command  # for a task that nobody is at work on
    if item.state not in ("needs_person", "failed", "blocked") and not waits:
        return
    first, *rest = [*printable_lines(item.reason), ""]
    command = f": {item.command}" if item.command else ""
    click.echo(f"{item.task} {shown_state(item.state)}: {first}{command}")
    for line in [*rest, *printable_lines(item.question), *printable_lines(item.newest_feedback)]:
        if line.strip():
            click.echo(f"    {line}")
