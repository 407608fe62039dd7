"""`sow hosts init` and `list`: a queue on a server, shared with the roles of callers and hosts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sow.cli import late_click as click
from sow.cli.arguments import here
from sow.cli.output import echo_json_lines, echo_result, echo_table, json_option
from sow.cli.queue_until_end import close_at_end
from sow.clock import format_duration
from sow.config.units import parse_duration
from sow.errors import StateError, UsageError
from sow.jobs.database import Database, QueueFile, open_queue
from sow.jobs.hosts import Host, hosts_of
from sow.jobs.server_deadlines import LEAST_SECONDS
from sow.paths import Workspace

if TYPE_CHECKING:
    from sow.jobs.queue_server import QueueServer
    from sow.jobs.server_rights import Served, Sharing

HEADER = (
    *("HOST", "ID", "ROLE", "STATE", "WORKERS", "JOBS", "HEARD", "LABELS", "EXECUTORS", "SERVES"),
)

MOST_NUMBER = 10_000
BY_REMOTE = (
    "The work of tasks travels by refs of the git remote origin, unless `queue: {remote: …}` names"
    " another."
)


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
@click.option(
    "--concurrency",
    metavar="N",
    help="How many agents run at once on all hosts together; `none`: as many as the hosts allow.",
)
@click.option(
    "--max-parallel",
    "limits",
    multiple=True,
    metavar="EXECUTOR=N",
    help="The same for the agents of one executor.",
)
@click.option("--lease", metavar="TIME", help="How long a silent host keeps its jobs; first: 2m.")
@json_option
def init(
    callers: tuple[str, ...],
    hosts: tuple[str, ...],
    owners: tuple[str, ...],
    executors: tuple[str, ...],
    concurrency: str | None,
    limits: tuple[str, ...],
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
    seconds, most = _lease_seconds(lease), _most(concurrency, limits)
    workspace = here()
    database = open_queue(workspace)
    close_at_end(database)
    server = _on_server(database, workspace)
    from sow.jobs.server_rights import Joining, share  # it imports psycopg, which few users have

    joining = Joining(callers, hosts, owners, executors, most)
    sharing = share(server, joining, lease_seconds=seconds)
    record = _record(server.place, server.schema, sharing)
    echo_result(record, _words(record), as_json=as_json)


@click.command()
@json_option
def list_hosts(as_json: bool) -> None:
    """List the hosts of a shared queue: what each serves and offers, and when it was heard last.

    A host is a checkout on one machine, used as one role of the server. JOBS are those that it
    runs. One whose workers were not heard for longer than a lease is `silent`: others may take its
    jobs over. LABELS are what jobs may require (`sow task set TASK requires gpu,macos`).
    """
    workspace = here()
    database = open_queue(workspace)
    close_at_end(database)
    server = _on_server(database, workspace)
    if not server.is_shared:
        raise StateError(
            f"the queue on {server.place} is not shared: its workers are those of one role",
            hint="`sow worker list` shows them. Share it: `sow hosts init --host ROLE`.",
        )
    from sow.jobs.server_rights import sharing_of  # as above

    served = sharing_of(server).hosts
    worked = [host for host in hosts_of(server) if host.offer.version]
    idle = dict.fromkeys(each.role for each in served)
    for host in worked:
        idle.pop(host.role, None)
    records = [_host(host, served) for host in worked]
    records += [_without_worker(role, served) for role in idle]
    if as_json:
        echo_json_lines(records)
    elif not records:
        click.echo("No role but the owner's may run its jobs, and no worker has ever run here.")
    else:
        echo_table(HEADER, map(_row, records), states=["STATE"], spare=("ID", "SERVES"))


def _host(host: Host, served: "Sequence[Served]") -> dict[str, Any]:
    offer = host.offer
    return {
        "id": host.id,
        "name": host.name,
        "role": host.role,
        "may_run": [each._asdict() for each in served if each.role == host.role],
        "executors": list(offer.executors),
        "owners": None if offer.owners is None else list(offer.owners),
        "labels": list(offer.labels),
        "version": offer.version,
        "worker_count": host.workers,
        "job_count": host.jobs,
        "silent_seconds": round(host.silent_seconds, 3),
        "is_silent": host.is_silent,
    }


def _without_worker(role: str, served: "Sequence[Served]") -> dict[str, Any]:
    """Return what there is of a role that may run jobs, and has never had a worker."""
    return {
        "id": None,
        "name": None,
        "role": role,
        "may_run": [each._asdict() for each in served if each.role == role],
        "executors": [],
        "owners": None,
        "labels": [],
        "version": None,
        "worker_count": 0,
        "job_count": 0,
        "silent_seconds": None,
        "is_silent": False,
    }


def _row(record: dict[str, Any]) -> tuple[str, ...]:
    silent = record["silent_seconds"]
    may_run = [
        f"{each['owner'] or 'everybody'}, {each['executor'] or 'each executor'}"
        for each in record["may_run"]
    ]
    own = [label for label in record["labels"] if ":" not in label]
    return (
        record["name"] or "-",
        record["id"] or "-",
        record["role"],
        "silent" if record["is_silent"] else "alive" if record["worker_count"] else "no worker",
        str(record["worker_count"]),
        str(record["job_count"]),
        "-" if silent is None else f"{format_duration(silent)} ago",
        ",".join(own) or "-",
        ",".join(record["executors"]) or "-",
        "; ".join(may_run) or "everything",
    )


def _on_server(database: Database, workspace: Workspace) -> "QueueServer":
    """Return a queue that is on a server. Raises StateError for one in a file."""
    if isinstance(database, QueueFile):
        raise StateError(
            f"the queue of {workspace.root} is a file, which no other host can use",
            hint="Put `queue: {url: postgresql://…}` into your configuration: sow config edit.",
        )
    from sow.jobs.queue_server import QueueServer  # as above

    assert isinstance(database, QueueServer)  # noqa: S101 - there is no third store
    return database


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


def _most(concurrency: str | None, limits: Sequence[str]) -> dict[str, int | None]:
    """Return the limits that a call names, by executor; `""` for all agents."""
    found = {} if concurrency is None else {"": _number(concurrency)}
    for limit in limits:
        executor, _, number = limit.partition("=")
        if not executor:
            raise UsageError(f"{limit!r} names no executor", hint="Write codex=2, or codex=none.")
        found[executor] = _number(number)
    return found


def _number(text: str) -> int | None:
    if text == "none":
        return None
    if not (text.isascii() and text.isdecimal() and 0 < int(text) <= MOST_NUMBER):
        raise UsageError(f"{text!r} is no number of agents", hint="Write 1 or more, or none.")
    return int(text)


def _record(place: str, schema: str, sharing: "Sharing") -> dict[str, Any]:
    return {
        "server": place,
        "queue": schema,
        "lease_seconds": sharing.lease_seconds,
        "callers": list(sharing.callers),
        "hosts": [host._asdict() for host in sharing.hosts],
        "concurrency": sharing.most.get(""),
        "max_parallel": {name: most for name, most in sharing.most.items() if name},
    }


def _words(record: dict[str, Any]) -> str:
    lease = format_duration(record["lease_seconds"])
    hosts = [
        f"  runs jobs    {host['role']}: of {host['owner'] or 'everybody'},"
        f" {host['executor'] or 'each executor'}"
        for host in record["hosts"]
    ]
    most = [f"{record['concurrency']} agents in all"] if record["concurrency"] else []
    most += [f"{number} of {name}" for name, number in record["max_parallel"].items()]
    return "\n".join(
        [
            f"The queue {record['queue']} on {record['server']} is shared; leases last {lease}.",
            f"  queue jobs   {', '.join(record['callers']) or 'its owner alone'}",
            *(hosts or ["  runs jobs    its owner alone"]),
            *(["  at once      " + ", ".join(most)] if most else []),
            BY_REMOTE,
        ]
    )
