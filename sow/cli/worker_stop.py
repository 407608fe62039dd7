"""`sow worker stop`."""

import os
import signal
import time

import click

from sow.cli import completing
from sow.cli.output import echo_json_lines, json_option
from sow.cli.this_caller import this_caller
from sow.errors import QueueError, StateError
from sow.jobs import workers
from sow.jobs.database import open_existing_queue
from sow.paths import Workspace
from sow.processes import process_facts
from sow.processes.process_facts import Life
from sow.schema.job import WorkerRecord

STOP_SECONDS = 30.0


@click.command()
@click.argument("names", metavar="[WORKER]...", nargs=-1, shell_complete=completing.workers)
@click.option(
    "--end-agents", is_flag=True, help="End their agents too; the jobs are resumed later."
)
@json_option
def stop(names: tuple[str, ...], end_agents: bool, as_json: bool) -> None:
    """Ask workers to leave (all, or those named). Their agents go on and are adopted."""
    workspace = this_caller().workspace
    database = open_existing_queue(workspace)
    found = [] if database is None else workers.registered(database)
    chosen = [worker for worker in found if not names or worker.id in names]
    unknown = set(names) - {worker.id for worker in chosen}
    if unknown:
        raise StateError(
            f"no such worker: {', '.join(sorted(unknown))}",
            hint="`sow worker list` shows the workers.",
        )
    alive = [worker for worker in chosen if workers.is_alive(workspace, worker.id)]
    for worker in alive:
        _signal(worker, workers.END_AGENTS if end_agents else signal.SIGTERM)
    _await_leave(workspace, alive)
    if as_json:
        echo_json_lines({"worker": worker.id, "pid": worker.process.pid} for worker in alive)
    else:
        for worker in alive:
            click.echo(f"stopped {worker.id}")
        if not alive:
            click.echo("No worker runs.")


def _signal(worker: WorkerRecord, signum: signal.Signals) -> None:
    if process_facts.life_of(worker.process) is not Life.ALIVE:
        raise QueueError(
            f"worker {worker.id} runs where it cannot be signalled from here"
            f" (pid {worker.process.pid})",
            hint="Stop it where it was started: in its container, or on its host.",
        )
    os.kill(worker.process.pid, signum)


def _await_leave(workspace: Workspace, leaving: list[WorkerRecord]) -> None:
    deadline = time.monotonic() + STOP_SECONDS
    while any(workers.is_alive(workspace, worker.id) for worker in leaving):
        if time.monotonic() > deadline:
            raise QueueError(
                f"workers have not left within {STOP_SECONDS:.0f} s",
                hint="`sow worker list` shows them, `sow worker logs` what they say.",
            )
        time.sleep(0.02)
