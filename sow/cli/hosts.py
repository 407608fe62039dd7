"""`sow hosts init`: share a queue on a server with the roles of callers and hosts."""

from typing import TYPE_CHECKING, Any

from sow.cli import late_click as click
from sow.cli.arguments import here
from sow.cli.output import echo_result, json_option
from sow.cli.queue_until_end import close_at_end
from sow.clock import format_duration
from sow.config.units import parse_duration
from sow.errors import StateError, UsageError
from sow.jobs.database import QueueFile, open_queue
from sow.jobs.server_deadlines import LEAST_SECONDS

if TYPE_CHECKING:
    from sow.jobs.server_rights import Sharing

ALONE = "One checkout at a time uses it so far: others cannot queue or run jobs here yet."


@click.command()
@click.option("--caller", "callers", multiple=True, metavar="ROLE", help="May queue jobs.")
@click.option("--host", "hosts", multiple=True, metavar="ROLE", help="May run jobs.")
@click.option(
    "--owner",
    "owners",
    multiple=True,
    metavar="ROLE",
    help="The hosts of this call run jobs of this role alone.",
)
@click.option(
    "--executor",
    "executors",
    multiple=True,
    metavar="NAME",
    help="They run jobs of this executor alone.",
)
@click.option("--lease", metavar="TIME", help="How long a silent host keeps its jobs; first: 2m.")
@json_option
def init(
    callers: tuple[str, ...],
    hosts: tuple[str, ...],
    owners: tuple[str, ...],
    executors: tuple[str, ...],
    lease: str | None,
    as_json: bool,
) -> None:
    """Share the queue on a server; say who may queue jobs and who may run them.

    Run it as the role that owns the queue's tables, and again whenever a role joins: what was
    said before stays. The server enforces it. From now on jobs of a worker that the server does
    not hear are given to others, and its agents end before.
    """
    if (owners or executors) and not hosts:
        raise UsageError(
            "--owner and --executor say what a host runs, and no --host is given",
            hint="Add --host ROLE.",
        )
    seconds = _lease_seconds(lease)
    workspace = here()
    database = open_queue(workspace)
    close_at_end(database)
    if isinstance(database, QueueFile):
        raise StateError(
            f"the queue of {workspace.root} is a file, which no other host can use",
            hint="Put `queue: {url: postgresql://…}` into your configuration: sow config edit.",
        )
    # They import psycopg, which few users have.
    from sow.jobs.queue_server import QueueServer
    from sow.jobs.server_rights import Joining, share

    assert isinstance(database, QueueServer)  # noqa: S101 - there is no third store
    sharing = share(database, Joining(callers, hosts, owners, executors), lease_seconds=seconds)
    record = _record(database.place, database.schema, sharing)
    echo_result(record, _words(record), as_json=as_json)


def _lease_seconds(lease: str | None) -> float | None:
    if lease is None:
        return None
    try:
        seconds = parse_duration(lease)
    except ValueError as error:
        raise UsageError(str(error), hint="Write a number and a unit: 2m, 10m.") from None
    if seconds < LEAST_SECONDS:
        raise UsageError(
            f"a lease of {lease} is too short",
            hint=f"At least {LEAST_SECONDS:.0f}s: agents need time to end before others take over.",
        )
    return seconds


def _record(place: str, schema: str, sharing: "Sharing") -> dict[str, Any]:
    return {
        "server": place,
        "queue": schema,
        "lease_seconds": sharing.lease_seconds,
        "callers": list(sharing.callers),
        "hosts": [host._asdict() for host in sharing.hosts],
    }


def _words(record: dict[str, Any]) -> str:
    lease = format_duration(record["lease_seconds"])
    hosts = [
        f"  runs jobs    {host['role']}: of {host['owner'] or 'everybody'},"
        f" {host['executor'] or 'each executor'}"
        for host in record["hosts"]
    ]
    return "\n".join(
        [
            f"The queue {record['queue']} on {record['server']} is shared; leases last {lease}.",
            f"  queue jobs   {', '.join(record['callers']) or 'its owner alone'}",
            *(hosts or ["  runs jobs    its owner alone"]),
            ALONE,
        ]
    )
