"""`sow worker list` and `stop`: the workers that there are."""

import os
import signal
import time
from contextlib import suppress
from typing import Any

from sow.cli import completing
from sow.cli import late_click as click
from sow.cli.arguments import this_caller
from sow.cli.output import echo_json_lines, echo_table, json_option
from sow.cli.queue_until_end import queue_until_end
from sow.clock import Times, format_time, utc_now
from sow.errors import QueueError, StateError
from sow.jobs import leases, workers
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.processes import process_facts
from sow.processes.life import Life
from sow.schema.job import WorkerRecord


@click.command()
@json_option
def list_workers(as_json: bool) -> None:
    """List the known workers: what they run, and whether they are alive.

    STATE is `unverifiable` if sow cannot see whether the worker is alive, for
    example on another machine. SLOTS are counted as in `sow queue status`: an
    agent that waits for a job that it has started is among the JOBS, but uses no
    slot.
    """
    workspace = this_caller().workspace
    database = queue_until_end(workspace)
    found = [] if database is None else workers.registered(database)
    records = [_record(workspace, database, worker) for worker in found if database is not None]
    if as_json:
        echo_json_lines(records)
    elif not records:
        click.echo("No worker runs. A call starts one; `sow worker` runs one in this terminal.")
    else:
        _echo(records)


def _record(workspace: Workspace, database: Database, worker: WorkerRecord) -> dict[str, Any]:
    life = workers.life_of(database, workspace, worker.id, worker)
    return {
        "worker": worker.id,
        "pid": worker.process.pid,
        "alive": life is Life.ALIVE,
        "life": life.value,
        "background": worker.background,
        "concurrency": worker.concurrency,
        "jobs": [lease.job_id for lease in leases.leases_of(database, worker.id)],
        "slots_taken": leases.slots_of(database, worker.id),
        "started_at": format_time(worker.started_at),
        "version": worker.version,
    }


def _echo(records: list[dict[str, Any]]) -> None:
    times = Times(utc_now())
    rows = [
        (
            record["worker"],
            str(record["pid"]),
            record["life"],
            f"{record['slots_taken']}/{record['concurrency']}",
            ",".join(map(str, record["jobs"])) or "-",
            times.of_record(record["started_at"]),
        )
        for record in records
    ]
    echo_table(("WORKER", "PID", "STATE", "SLOTS", "JOBS", "SINCE"), rows, spare=("PID", "JOBS"))


STOP_SECONDS = 30.0


@click.command()
@click.argument("names", metavar="[WORKER]...", nargs=-1, shell_complete=completing.workers)
@click.option(
    "--end-agents", is_flag=True, help="End their agents too; the jobs are resumed later."
)
@json_option
def stop(names: tuple[str, ...], end_agents: bool, as_json: bool) -> None:
    """Ask workers of this host to stop (all, or those named). Their agents continue.

    The next worker adopts them.
    """
    workspace = this_caller().workspace
    database = queue_until_end(workspace)
    found = [] if database is None else workers.registered(database)
    chosen = [worker for worker in found if not names or worker.id in names]
    unknown = set(names) - {worker.id for worker in chosen}
    if unknown:
        raise StateError(
            f"no such worker: {', '.join(sorted(unknown))}",
            hint="`sow worker list` shows the workers.",
        )
    for worker in chosen if names else ():
        if database is not None and database.is_elsewhere(worker.id):
            raise _not_from_here(worker)
    alive = [worker for worker in chosen if workers.is_alive(workspace, worker.id)]
    by = time.monotonic() + workers.SAY_SECONDS
    for worker in alive:
        _ask(database, worker, workers.END_AGENTS if end_agents else signal.SIGTERM, by=by)
    _await_leave(workspace, alive)
    if as_json:
        echo_json_lines({"worker": worker.id, "pid": worker.process.pid} for worker in alive)
    else:
        for worker in alive:
            click.echo(f"stopped {worker.id}")
        if not alive:
            click.echo("No worker runs.")


def _ask(
    database: Database | None, worker: WorkerRecord, signum: signal.Signals, *, by: float
) -> None:
    """Have a worker leave; it is on record first, so that no call counts on it any more.

    Where the queue's file cannot be written `by` then, the signal alone is sent.
    """
    if process_facts.life_of(worker.process) is not Life.ALIVE:
        raise _not_from_here(worker)
    if database is not None:
        with suppress(QueueError), database.hurried(max(0.0, by - time.monotonic())):
            workers.say_leaving(database, worker.id, now=utc_now())
    os.kill(worker.process.pid, signum)


def _not_from_here(worker: WorkerRecord) -> QueueError:
    return QueueError(
        f"worker {worker.id} runs where it cannot be signalled from here"
        f" (pid {worker.process.pid})",
        hint="Stop it where it was started: in its container, or on its host.",
    )


def _await_leave(workspace: Workspace, leaving: list[WorkerRecord]) -> None:
    deadline = time.monotonic() + STOP_SECONDS
    while any(workers.is_alive(workspace, worker.id) for worker in leaving):
        if time.monotonic() > deadline:
            raise QueueError(
                f"workers have not stopped within {STOP_SECONDS:.0f} s",
                hint="`sow worker list` shows them; `sow worker logs` shows their logs.",
            )
        time.sleep(0.02)
