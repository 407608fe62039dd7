"""`sow worker stop`."""

import os
import signal
import time

import click

from sow.cli import completing
from sow.cli.calling import this_caller
from sow.cli.output import echo_json_lines, json_option
from sow.errors import QueueError
from sow.jobs import workers
from sow.jobs.database import open_existing_queue
from sow.paths import Workspace
from sow.processes import facts
from sow.processes.facts import Life
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
    chosen = [one for one in found if not names or one.id in names]
    unknown = set(names) - {one.id for one in chosen}
    if unknown:
        raise QueueError(
            f"no such worker: {', '.join(sorted(unknown))}",
            hint="`sow worker list` shows the workers.",
        )
    alive = [one for one in chosen if workers.is_alive(workspace, one.id)]
    for one in alive:
        _signal(one, workers.END_AGENTS if end_agents else signal.SIGTERM)
    _await_leave(workspace, alive)
    if as_json:
        echo_json_lines({"worker": one.id, "pid": one.process.pid} for one in alive)
    else:
        for one in alive:
            click.echo(f"stopped {one.id}")
        if not alive:
            click.echo("No worker runs.")


def _signal(one: WorkerRecord, signum: signal.Signals) -> None:
    if facts.life_of(one.process) is not Life.ALIVE:
        raise QueueError(
            f"worker {one.id} runs where it cannot be signalled from here (pid {one.process.pid})",
            hint="Stop it where it was started: in its container, or on its host.",
        )
    os.kill(one.process.pid, signum)


def _await_leave(workspace: Workspace, leaving: list[WorkerRecord]) -> None:
    deadline = time.monotonic() + STOP_SECONDS
    while any(workers.is_alive(workspace, one.id) for one in leaving):
        if time.monotonic() > deadline:
            raise QueueError(
                f"workers have not left within {STOP_SECONDS:.0f} s",
                hint="`sow worker list` shows them, `sow worker logs` what they say.",
            )
        time.sleep(0.02)
