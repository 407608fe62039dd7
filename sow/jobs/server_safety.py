"""Whether the way to a queue's server is safe enough: others may read, or be taken for it.

Owns what counts as this machine, and that a queue which several hosts share is reached over
connections alone that verify the server.
"""

from typing import Any

from psycopg import Connection

from sow.jobs.queue_server import QueueServer
from sow.jobs.server_faults import ServerFault

LOCAL = ("", "localhost", "127.0.0.1", "::1")
VERIFIED = b"verify-full"


def is_local(connection: Connection[Any]) -> bool:
    """Whether a connection stays on this machine."""
    host = connection.info.host
    return host.startswith("/") or host in LOCAL


def refuse_unverified(database: QueueServer) -> None:
    """Raise ServerFault where a connection to a shared queue crosses a network unverified."""
    connection = database.connection
    mode = {option.keyword: option.val for option in connection.pgconn.info}.get(b"sslmode")
    if is_local(connection) or (connection.pgconn.ssl_in_use and mode == VERIFIED):
        return
    raise ServerFault(
        database.place,
        "several hosts share it, and your connection does not verify the server",
        "Add `?sslmode=verify-full&sslrootcert=FILE` to `queue: url`. FILE has the certificate of"
        " whoever has signed the server's.",
    )
