"""How a queue on a server is shared: the roles of callers and hosts, and what each of them may do.

Owns the names of the two groups of roles, and the run of `server_forms/rights.sql`, which has the
rules themselves, of `hosts.sql` (`hosts`), of `bells.sql` (`server_bells`), of `travel.sql`
(`travels`) and of `lanes.sql` (`leases`). The server enforces the rules, whatever sow a client has.
The role that owns the tables may do everything.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from psycopg import Connection, sql
from psycopg.errors import InsufficientPrivilege

from sow.errors import QueueError
from sow.jobs.hosts import most_agents
from sow.jobs.queue_server import QueueServer
from sow.jobs.server_deadlines import LEASE_SECONDS
from sow.jobs.server_faults import ServerFault, words_of
from sow.jobs.server_safety import refuse_unverified
from sow.jobs.store import MOST_AGENTS, USUAL_SECONDS

FORMS = Path(__file__).with_name("server_forms")
OF_SHARED = ("hosts.sql", "rights.sql", "bells.sql", "travel.sql", "lanes.sql")
"""What the tables of a shared queue have besides."""


class Served(NamedTuple):
    """What a host's role may run; None stands for all."""

    role: str
    owner: str | None
    executor: str | None


class Sharing(NamedTuple):
    """How a queue is shared."""

    lease_seconds: float
    callers_group: str
    hosts_group: str
    callers: Sequence[str]
    hosts: Sequence[Served]
    most: Mapping[str, int]
    """How many agents run at once on all hosts together, by executor; `""` for all of them."""


class Joining(NamedTuple):
    """Which roles join, and what the hosts among them serve: of whom and by which executors."""

    callers: Sequence[str] = ()
    hosts: Sequence[str] = ()
    owners: Sequence[str] = ()
    executors: Sequence[str] = ()
    most: Mapping[str, int | None] = {}
    """New limits, as `Sharing.most` has them; None takes one away."""


def share(database: QueueServer, joining: Joining, *, lease_seconds: float | None) -> Sharing:
    """Share a queue, and let roles join; what was said before stays. All of it, or nothing.

    Raises QueueError.
    """
    refuse_unverified(database)
    groups = callers, hosts = _groups(database)
    with database.turn_alone() as connection:
        _refuse_unless_owner(database)
        with _may_lack_right(database.place, groups):
            for group in groups:
                _make_group(connection, group)
        lay_down_rules(database, connection)
        with _may_lack_right(database.place, groups):
            for role in joining.callers:
                _let_join(database, connection, callers, role)
            for role in joining.hosts:
                _let_join(database, connection, hosts, role)
        for role in joining.hosts:
            _serve(connection, role, joining)
        for executor, most in joining.most.items():
            _limit(database, f"{MOST_AGENTS} {executor}".rstrip(), most)
        if lease_seconds is not None or database.noted(LEASE_SECONDS) is None:
            database.note(LEASE_SECONDS, lease_seconds or USUAL_SECONDS)
    database.is_shared = True
    return sharing_of(database)


def lay_down_rules(database: QueueServer, connection: Connection[Any]) -> None:
    """Give the tables what those of a shared queue have besides, in the transaction that is open.

    Again whenever somebody joins, and whenever they were brought up to date.
    """
    callers, hosts = _groups(database)
    names = {"schema": database.schema, "callers": callers, "hosts": hosts}
    for name in OF_SHARED:
        connection.execute(_with_names((FORMS / name).read_bytes(), names))


def sharing_of(database: QueueServer) -> Sharing:
    """Return how a queue is shared that is. Raises QueueError."""
    callers, hosts = _groups(database)
    rows = database.rows(
        "select host, owner, executor from served order by host, owner, executor", ()
    )
    return Sharing(
        float(database.noted(LEASE_SECONDS) or 0),
        callers,
        hosts,
        _members(database, callers),
        [Served(row["host"], row["owner"] or None, row["executor"] or None) for row in rows],
        most_agents(database),
    )


def _limit(database: QueueServer, name: str, most: int | None) -> None:
    if most is None:
        database.run("delete from control where name = ?", (name,))
    else:
        database.note(name, most)


def rights_here(database: QueueServer) -> str:
    """Say what our role may do in a shared queue. Raises QueueError."""
    callers, hosts = _groups(database)
    row = database.row(
        "select pg_has_role(tableowner, 'usage') as owns, pg_has_role(cast(? as name), 'member')"
        " as calls, pg_has_role(cast(? as name), 'member') as serves from pg_tables"
        " where schemaname = ? and tablename = 'job'",
        (callers, hosts, database.schema),
    )
    assert row is not None  # noqa: S101 - it is a queue
    if row["owns"]:
        return "may do everything, for it owns the tables"
    rights = [word for word, has in (("queue", row["calls"]), ("run", row["serves"])) if has]
    return f"may {' and '.join(rights) or 'neither queue nor run'} jobs"


@contextmanager
def _may_lack_right(place: str, groups: Sequence[str]) -> Iterator[None]:
    """Say what an administrator is to do where our role may not make roles or let others join."""
    try:
        yield
    except InsufficientPrivilege as error:
        made = "; ".join(f"create role {group}" for group in groups)
        raise ServerFault(
            place,
            f"your role may not make roles, nor let others join: {words_of(error)}",
            f"Have the server's administrator run `{made}; grant {', '.join(groups)} to YOU with"
            " admin option`. Then run the command again.",
        ) from error


def _groups(database: QueueServer) -> tuple[str, str]:
    return f"{database.schema}_callers", f"{database.schema}_hosts"


def _refuse_unless_owner(database: QueueServer) -> None:
    owner = database.value(
        "select tableowner from pg_tables where schemaname = ? and tablename = 'job'",
        (database.schema,),
    )
    if not database.value("select pg_has_role(cast(? as name), 'usage')", (owner,)):
        raise ServerFault(
            database.place,
            f"only {owner}, who owns its tables, says who else may use it",
            f"Run the command with the address of {owner} in `queue: url`.",
        )


def _with_names(text: bytes, names: dict[str, str]) -> bytes:
    for name, value in names.items():
        text = text.replace(f"@{name}@".encode(), value.encode())
    return text


def _make_group(connection: Connection[Any], group: str) -> None:
    found = connection.execute("select 1 from pg_roles where rolname = %s", (group,))
    if found.fetchone() is None:
        connection.execute(sql.SQL("create role {}").format(sql.Identifier(group)))


def _let_join(database: QueueServer, connection: Connection[Any], group: str, role: str) -> None:
    found = connection.execute("select 1 from pg_roles where rolname = %s", (role,))
    if found.fetchone() is None:
        raise QueueError(
            f"there is no role {role} on {database.place}",
            hint=f"Its administrator makes one: `create role {role} login password '…'`.",
        )
    joins = sql.SQL("grant {} to {}")
    connection.execute(joins.format(sql.Identifier(group), sql.Identifier(role)))


def _serve(connection: Connection[Any], role: str, joining: Joining) -> None:
    """Put on record what a host serves, in the place of what it served before."""
    connection.execute("delete from served where host = %s", (role,))
    for owner in joining.owners or ("",):
        for executor in joining.executors or ("",):
            connection.execute("insert into served values (%s, %s, %s)", (role, owner, executor))


def _members(database: QueueServer, group: str) -> list[str]:
    rows = database.rows(
        "select member.rolname as name from pg_auth_members"
        " join pg_roles member on member.oid = pg_auth_members.member"
        " join pg_roles joined on joined.oid = roleid where joined.rolname = ? order by 1",
        (group,),
    )
    return [row["name"] for row in rows]
