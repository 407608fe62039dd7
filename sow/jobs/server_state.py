"""How a queue's server answers: its version, how far it is, its clock, what our role may do there.

Reads only; for `sow doctor`.
"""

import time
from typing import NamedTuple

from sow.jobs.queue_server import QueueServer
from sow.jobs.server_deadlines import LEASE_SECONDS
from sow.jobs.server_making import ENCODINGS, encoding_of, is_too_old
from sow.jobs.server_safety import is_local

LOOKS = 3
"""How often the server is asked: the quickest answer counts."""
TABLE_RIGHTS = ("insert", "update", "delete")
CLOCK = "select cast(extract(epoch from clock_timestamp()) as double precision)"
"""What the queue's own `clock()` says, where there is no queue yet."""


class ServerState(NamedTuple):
    """What a look at a server has found."""

    place: str
    version: str
    is_too_old: bool
    answer_seconds: float
    ahead_seconds: float
    """How far the server's clock is ahead of ours, give or take half an answer."""
    is_encrypted: bool
    is_local: bool
    """Whether the server is reached by a socket of this machine."""
    lacking: tuple[str, ...]
    """What our role may not do with the queue's tables."""
    unfit_encoding: str
    """In which the database keeps text, if not in one that has all of it."""
    may_make: bool
    """Whether the queue is there, or our role may make it."""


def look_at(database: QueueServer, *, is_made: bool) -> ServerState:
    """Ask a server how it stands; `is_made` says whether the queue is there. Raises QueueError."""
    looks = [_ask_clock(database) for _ in range(LOOKS)]
    answer, ahead = min(looks)
    connection = database.connection
    return ServerState(
        place=database.place,
        version=connection.info.parameter_status("server_version") or "?",
        is_too_old=is_too_old(connection),
        answer_seconds=answer,
        ahead_seconds=ahead,
        is_encrypted=bool(connection.pgconn.ssl_in_use),
        is_local=is_local(connection),
        lacking=_lacking(database) if is_made else (),
        unfit_encoding="" if (encoding := encoding_of(connection)) in ENCODINGS else encoding,
        may_make=is_made or _may_make(database),
    )


def _lacking(database: QueueServer) -> tuple[str, ...]:
    if database.noted(LEASE_SECONDS) is not None:
        return ()  # each role of a shared queue has rights of its own (`server_rights`)
    asked = ", ".join("has_table_privilege('job', ?)" for _ in TABLE_RIGHTS)
    row = database.row(f"select {asked}", TABLE_RIGHTS)
    assert row is not None  # noqa: S101 - it has no condition
    return tuple(right for right, may in zip(TABLE_RIGHTS, row, strict=True) if not may)


def _may_make(database: QueueServer) -> bool:
    return bool(database.value("select has_database_privilege(current_database(), 'create')"))


def _ask_clock(database: QueueServer) -> tuple[float, float]:
    """Return how long an answer takes, and how far the server's clock is ahead."""
    began = time.monotonic()
    before = time.time()
    there = float(database.value(CLOCK))
    took = time.monotonic() - began
    return took, there - (before + took / 2)
