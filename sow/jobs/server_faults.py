"""What can be wrong with a queue on a server, each with what it means and what to do.

Owns the words. No word has a password in it: a server is called by its place (`place_of`).
"""

import os

from psycopg import Error, OperationalError, ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from sow import __version__
from sow.clock import format_duration
from sow.errors import QueueError
from sow.jobs.faults import GONE_ON, QueueChanged
from sow.jobs.store import FORMAT

LOST = ("08", "53", "57", "58", "25P03")
"""How an SQLSTATE begins of a connection that is lost, or will be: the connection, the server's
means, its shutdown, its system, a transaction that has rested too long."""
BUSY = ("55P03", "57014")
"""A lock, or a statement, that took too long."""
DAMAGED = ("42P01", "42703", "42883", "3F000")
"""A table, column, function or schema is not there."""
REFUSED = "42501"
"""The role may not do this."""
TURNED_AWAY = ("authentication failed", "pg_hba.conf", "no password supplied", "does not exist")
"""What the server says to a role that may not come in: such an answer has no SQLSTATE."""
FULL = ("too many clients", "too many connections", "connection slots")
"""What it says where it takes no further connection, likewise."""
UNPROVED = ("certificate verify failed", "does not match host name", "root certificate file")
"""What libpq says of a server that does not prove who it is. It says no more of a certificate."""
DISK_FULL = "53100"
STANDBY = "25006"
TOO_LARGE = "22003"

RETRY = "See that the server runs and can be reached, then run the command again."


class ServerFault(QueueError):
    """The queue's server cannot be reached, or refuses what was asked.

    Where the connection is lost during a commit, nobody can tell whether that was kept.
    """

    def __init__(self, place: str, reason: str, hint: str, *, passes: bool = False) -> None:
        super().__init__(f"the queue on {place} cannot be used: {reason}", hint=hint)
        self.passes = passes


class ServerQueueChanged(QueueChanged):
    """The queue on the server was removed, or has a form that this sow cannot read."""

    def __init__(self, place: str, what: str, hint: str) -> None:
        super().__init__(f"the queue on {place} {what}", hint=f"{hint} {GONE_ON}")


class ServerRestored(QueueChanged):
    """The queue on the server lacks what this checkout has seen there: it is an older backup."""

    has_lost_records = True

    def __init__(self, place: str) -> None:
        super().__init__(
            f"the queue on {place} was restored from a backup: it lacks the newest changes that"
            " this checkout has seen",
            hint="What jobs have done since the backup cannot be recorded; what their agents have"
            " made is kept. `sow status` shows tasks that were begun, `sow job list` the jobs on"
            " record: those that had not ended run again. To go on, run the command again.",
        )


class OtherCheckout(QueueError):
    """Another checkout uses the queue, and something goes on there.

    `silent_seconds` is how long ago its last worker was heard; None where it has none.
    """

    def __init__(self, place: str, checkout: str, silent_seconds: float | None) -> None:
        worker = "no worker runs there"
        if silent_seconds is not None:
            worker = f"a worker there was heard {format_duration(silent_seconds)} ago"
        super().__init__(
            f"the queue on {place} is used from {checkout}; {worker}",
            hint="One checkout at a time uses it: wait until its jobs have ended, or cancel them"
            " there (`sow job list --active` shows them). If that checkout is gone for good,"
            " run `rm .sow/.queue .sow/run/queue.name` here: the next job makes a new queue.",
        )


def refuse_format(place: str, version: int) -> None:
    """Raise ServerQueueChanged where the tables have another form than this sow's."""
    if version == FORMAT:
        return
    what = f"has format {version}; this sow {__version__} reads {FORMAT}"
    is_newer = version > FORMAT
    newer = "Use the sow that made it, or a newer one. Nothing was changed."
    raise ServerQueueChanged(place, what, newer if is_newer else "Run the command again.")


def meant_by(error: Error, place: str) -> QueueError | None:
    """Return what an error of psycopg means; None for a fault of ours."""
    code, reason = error.sqlstate or "", words_of(error)
    if code in DAMAGED:
        hint = "Whoever administers the server can tell what became of it."
        return ServerQueueChanged(place, f"was removed or damaged: {reason}", hint)
    if code == TOO_LARGE:
        return QueueError(
            "a number is too large to be stored",
            hint="Nothing was changed. Find the number in the command, in SOW_JOB_ID or in"
            " the configuration, and make it smaller.",
        )
    if code in BUSY:
        hint = "Nothing was changed. Run the command again."
        return ServerFault(place, reason, hint, passes=True)
    if not code and any(words in reason for words in UNPROVED):
        hint = (
            "Perhaps its certificate has expired, names another host, or was signed by another"
            " authority than `sslrootcert` in `queue: url` names. Whoever administers the server"
            " can tell."
        )
        return ServerFault(place, reason, hint)
    if code == REFUSED or (not code and any(words in reason for words in TURNED_AWAY)):
        hint = "Check role, password and database in `queue: url`, and what the role may do there."
        return ServerFault(place, reason, hint)
    if any(words in reason for words in FULL):
        hint = (
            "Run the command again. A worker has two connections and a command one: see to"
            " `max_connections` there."
        )
        return ServerFault(place, reason, hint, passes=True)
    if code == DISK_FULL:
        hint = (
            "Nothing was changed. Make room on the server's disk, then run the command again; what"
            " workers could not write they write then."
        )
        return ServerFault(place, f"its disk is full: {reason}", hint, passes=True)
    if code == STANDBY:
        hint = "Name the primary server in `queue: url`."
        return ServerFault(place, "the server is read-only: a standby", hint)
    if code.startswith(LOST) or isinstance(error, OperationalError):
        return ServerFault(place, reason, RETRY, passes=True)
    return None


def place_of(url: str) -> str:
    """Return a server and its database for people: without a password, or any other setting."""
    try:
        given = conninfo_to_dict(url)
    except ProgrammingError as error:
        raise QueueError(
            "`queue: url` is no address of a PostgreSQL server",  # its words may quote a password
            hint="Write postgresql://USER@HOST/DATABASE.",
        ) from error
    host = given.get("host") or given.get("hostaddr") or os.environ.get("PGHOST") or "this machine"
    port = f":{given['port']}" if given.get("port") else ""
    name = f"/{given['dbname']}" if given.get("dbname") else ""
    return f"{host}{port}{name}"


def words_of(error: Error) -> str:
    """Return what an error says, on a line."""
    text = error.diag.message_primary or str(error)
    return " ".join(text.split()) or "for no reason that it tells"
