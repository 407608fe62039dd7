"""What `sow doctor` says of the server that has the queue."""

from collections.abc import Iterator
from contextlib import closing

from sow.clock import format_duration
from sow.findings import Finding, Level
from sow.jobs import jobs
from sow.jobs.hosts import hosts_of, unserved
from sow.jobs.queue_server import QueueServer
from sow.jobs.server_deadlines import LEASE_SECONDS
from sow.jobs.server_making import OLDEST
from sow.jobs.server_place import SCHEMA_PREFIX
from sow.jobs.server_rights import rights_here
from sow.jobs.server_state import ServerState, look_at
from sow.paths import Workspace

FAR_SECONDS = 0.05
"""From here on each command waits noticeably: most ask a few times."""
WRONG_SECONDS = 2.0
"""From here on waits and times on record are wrong by as much."""
ONE_CHECKOUT = Finding(
    check="checkouts",
    level=Level.NOTE,
    text="One checkout at a time uses this queue, now this one: workers elsewhere cannot serve it",
    remedy="Another checkout is refused until no job of this one lives; `sow hosts init` shares the"
    " queue with several.",
)
"""Where the queue is not shared: then nothing tells of other checkouts' workers."""


def examine_server(workspace: Workspace, database: QueueServer) -> Iterator[Finding]:
    """Yield what is found of a queue's server. Raises QueueError."""
    yield from _state(look_at(database, is_made=True))
    yield from _other_name(workspace, database)
    yield from _sharing(database)
    if not database.is_shared:
        yield ONE_CHECKOUT


def examine_unused_server(workspace: Workspace, url: str) -> Iterator[Finding]:
    """Yield what is found of a server that has no queue of this repository yet.

    Raises QueueError.
    """
    with closing(QueueServer(url, SCHEMA_PREFIX, workspace.run)) as database:
        yield from _state(look_at(database, is_made=False))


def _state(state: ServerState) -> Iterator[Finding]:
    facts = {
        "server": state.place,
        "version": state.version,
        "answer_seconds": round(state.answer_seconds, 6),
        "ahead_seconds": round(state.ahead_seconds, 3),
        "encrypted": state.is_encrypted,
    }
    text = (
        f"The queue's server {state.place} answers in {state.answer_seconds * 1000:.1f} ms"
        f" (PostgreSQL {state.version})"
    )
    yield Finding(check="queue", level=Level.OK, text=text, facts=facts)
    yield from shortcomings(state)


def _sharing(database: QueueServer) -> Iterator[Finding]:
    """Yield that a queue is shared, and what our role may do in it."""
    seconds = database.noted(LEASE_SECONDS)
    if seconds is None:
        return
    role, lease = database.connection.info.user, format_duration(float(seconds))
    text = f"The queue is shared: leases last {lease}; your role {role} {rights_here(database)}"
    remedy = "`sow hosts init`, run by its owner, says who may queue and run jobs."
    yield Finding(check="hosts", level=Level.NOTE, text=text, remedy=remedy)
    yield from _hosts(database)


def _hosts(database: QueueServer) -> Iterator[Finding]:
    """Yield which hosts are silent, and what waits for one that no host is."""
    hosts = hosts_of(database)
    for host in hosts:
        if host.workers and not host.is_heard:
            silent = format_duration(host.silent_seconds)
            text = f"Host {host.name} (role {host.role}) has been silent for {silent}"
            remedy = "Others may take its jobs over. See whether it runs and reaches the server."
            yield Finding(check="hosts", level=Level.WARNING, text=text, remedy=remedy)
    for reason, waiting in unserved(database, jobs.active_jobs(database)).items():
        text = f"{reason[:1].upper()}{reason[1:]}: job {', '.join(map(str, waiting))}"
        remedy = "`sow hosts list` shows what each serves and offers; start a worker that does."
        yield Finding(check="hosts", level=Level.WARNING, text=text, remedy=remedy)


def _other_name(workspace: Workspace, database: QueueServer) -> Iterator[Finding]:
    """Yield that the branch names another queue than this checkout uses, or none."""
    try:
        named = workspace.queue_name.read_text("ascii").strip()
    except (OSError, UnicodeError):
        named = ""
    used = database.schema.removeprefix(SCHEMA_PREFIX)
    if named == used:
        return
    text = f"This checkout uses the queue {used}, and its branch names {named[:40] or 'none'}"
    remedy = f"Write {used} into {workspace.queue_name} and commit it, so that clones have it too."
    yield Finding(check="queue", level=Level.NOTE, text=text, remedy=remedy)


def shortcomings(state: ServerState) -> Iterator[Finding]:
    """Yield what is wrong with a server, or soon will be."""
    if state.is_too_old:
        text = f"The queue's server is PostgreSQL {state.version}: too old for sow's queue"
        remedy = f"sow needs PostgreSQL {OLDEST} or newer."
        yield Finding(check="queue", level=Level.ERROR, text=text, remedy=remedy)
    if state.unfit_encoding:
        text = f"The queue's database keeps text in {state.unfit_encoding}: it cannot hold any text"
        remedy = "Name another one: `create database … encoding 'UTF8' template template0`."
        yield Finding(check="queue", level=Level.ERROR, text=text, remedy=remedy)
    if state.lacking:
        text = f"Your role may not {', '.join(state.lacking)} in the queue's tables"
        remedy = "Its owner can grant that: `grant all on all tables in schema … to …`."
        yield Finding(check="queue", level=Level.ERROR, text=text, remedy=remedy)
    if not state.may_make:
        text = "Your role may not create a schema in that database: no queue can be made there"
        remedy = "The database's owner can grant that: `grant create on database … to …`."
        yield Finding(check="queue", level=Level.ERROR, text=text, remedy=remedy)
    if state.answer_seconds > FAR_SECONDS:
        text = f"The queue's server is far away: {state.answer_seconds * 1000:.0f} ms an answer"
        remedy = "Each command asks it a few times. A server in the same network is quicker."
        yield Finding(check="queue", level=Level.WARNING, text=text, remedy=remedy)
    if abs(state.ahead_seconds) > WRONG_SECONDS:
        way = "ahead of" if state.ahead_seconds > 0 else "behind"
        text = (
            f"The clock of the queue's server is {abs(state.ahead_seconds):.0f} s {way} this"
            " machine's"
        )
        remedy = "Have both set their clocks by NTP: waits and times on record are wrong so far."
        yield Finding(check="queue", level=Level.WARNING, text=text, remedy=remedy)
    if not state.is_encrypted and not state.is_local:
        text = "The connection to the queue's server is not encrypted"
        remedy = "Add `?sslmode=verify-full` to `queue: url`; the server needs a certificate."
        yield Finding(check="queue", level=Level.WARNING, text=text, remedy=remedy)
