"""How the tables of a queue on a server come to be: made new, or brought up to date.

Owns both, in one transaction under the queue's lock: two processes never do either at once, and
one that is killed leaves what was there. The SQL lies in `server_forms`, a file for each form
since the first that was made on a server. Steps only go forward, as those of a file do.
"""

from pathlib import Path
from typing import Any

from psycopg import Connection

from sow import __version__
from sow.errors import QueueError
from sow.jobs.private_folders import make_private, refuse_foreign_run
from sow.jobs.queue_server import CHANGES, CHECKOUT, FORMAT_NAME, QueueServer
from sow.jobs.server_checkout import take
from sow.jobs.server_deadlines import LEASE_SECONDS
from sow.jobs.server_faults import ServerFault, refuse_format
from sow.jobs.server_safety import refuse_unverified
from sow.jobs.store import FORMAT
from sow.paths import Workspace

FIRST_FORM = 5
"""The first form that was ever made on a server."""
OLDEST = 14
"""The oldest major version of PostgreSQL that has all words of our statements."""
PER_MAJOR = 10_000
"""What a major version counts in a server's number."""
ENCODINGS = ("UTF8", "SQL_ASCII")
"""The encodings of a database that hold any text; the second one keeps bytes as they come."""
FILE_ID = "file_id"
"""The row of `control` with the id that was made with the queue."""
FORMS = Path(__file__).with_name("server_forms")


def open_server(workspace: Workspace, url: str, schema: str, *, make: bool) -> QueueServer | None:
    """Open the queue of a schema; `make` it where there is none, or return None.

    What is of this machine alone stays in the checkout: bells, locks, the output of jobs. Raises
    QueueError.
    """
    refuse_foreign_run(workspace)
    database = QueueServer(url, schema, workspace.run)
    try:
        noted = database.all_noted()
        version = int(noted.get(FORMAT_NAME, 0))
        if not version and not make:
            database.close()
            return None
        if version < FORMAT:
            _bring_up_to_date(database)
        refuse_format(database.place, max(version, FORMAT))
        for folder in (workspace.workers, workspace.waiters):
            make_private(folder, below=workspace.sow)
        if LEASE_SECONDS in noted:
            database.is_shared = True
            refuse_unverified(database)
        take(database, workspace, noted.get(CHECKOUT))
        database.seen.open(noted.get(FILE_ID, ""), int(noted.get(CHANGES, 0)))
    except OSError as error:
        database.close()
        raise QueueError(
            f"cannot make the folders for workers and callers in {workspace.run}: {error}",
            hint="Check the disk's free space and the permissions of .sow, then run the command"
            " again.",
        ) from error
    except BaseException:
        database.close()
        raise
    return database


def is_too_old(connection: Connection[Any]) -> bool:
    """Whether a server lacks words of our statements."""
    return connection.info.server_version < OLDEST * PER_MAJOR


def encoding_of(connection: Connection[Any]) -> str:
    """Return the encoding in which a database keeps text."""
    return connection.info.parameter_status("server_encoding") or "?"


def refuse_encoding(place: str, encoding: str) -> None:
    """Raise ServerFault for a database that cannot hold any text: a prompt may have any."""
    if encoding not in ENCODINGS:
        hint = "Name another one: `create database … encoding 'UTF8' template template0`."
        raise ServerFault(place, f"the database keeps text in {encoding}", hint)


def _format_on(database: QueueServer) -> int:
    """Return which form a queue is in; 0 where there is none."""
    if not database.value("select to_regclass(?) is not null", (f'"{database.schema}".control',)):
        return 0
    return int(database.noted(FORMAT_NAME) or 0)


def _bring_up_to_date(database: QueueServer) -> None:
    with database.turn_alone() as connection:
        if is_too_old(connection):
            major = connection.info.server_version // PER_MAJOR
            hint = f"sow needs PostgreSQL {OLDEST} or newer."
            raise ServerFault(database.place, f"the server is PostgreSQL {major}", hint)
        version = _format_on(database)
        if version and database.value("select row_security_active('job')"):
            hint = "Whoever owns its tables runs a command of this sow first, which brings it up."
            has = f"has format {version}; this sow {__version__} reads {FORMAT}"
            raise ServerFault(database.place, f"it {has}", hint)
        if not version:
            refuse_encoding(database.place, encoding_of(connection))
            connection.execute(f'create schema if not exists "{database.schema}"')
        for number in range(max(version + 1, FIRST_FORM), FORMAT + 1):
            connection.execute((FORMS / f"{number}.sql").read_bytes())
        if database.noted(LEASE_SECONDS) is not None:
            from sow.jobs.server_rights import lay_down_rules  # once after an update of sow

            lay_down_rules(database, connection)
        database.note(FORMAT_NAME, FORMAT)
        database.note("made_by", __version__)
