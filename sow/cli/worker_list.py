"""`sow worker list`."""

from typing import Any

import click

from sow.cli.output import echo_json_lines, echo_table, json_option
from sow.cli.this_caller import this_caller
from sow.clock import Times, format_time, utc_now
from sow.jobs import leases, workers
from sow.jobs.database import Database, open_existing_queue
from sow.paths import Workspace
from sow.processes.life import Life
from sow.schema.job import WorkerRecord


@click.command()
@json_option
def list_workers(as_json: bool) -> None:
    """List the workers on record: what they run, and whether they live.

    STATE is `unverifiable` where nothing proves a worker dead or alive: one of another
    machine, say. SLOTS is counted as `sow queue status` counts: an agent that waits for a job
    that it has started is among the JOBS, and holds no slot meanwhile.
    """
    workspace = this_caller().workspace
    database = open_existing_queue(workspace)
    records = [] if database is None else _records(workspace, database)
    if as_json:
        echo_json_lines(records)
    elif not records:
        click.echo("No worker runs. A call starts one; `sow worker` runs one in this terminal.")
    else:
        _echo(records)


def _records(workspace: Workspace, database: Database) -> list[dict[str, Any]]:
    return [_record(workspace, database, worker) for worker in workers.registered(database)]


def _record(workspace: Workspace, database: Database, worker: WorkerRecord) -> dict[str, Any]:
    life = workers.life_of(workspace, worker.id, worker)
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
