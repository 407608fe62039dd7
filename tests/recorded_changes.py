"""The record of changes, read whole as tests compare it."""

from sow.jobs.changes import AT_ONCE, EVERYTHING, Filter, change_of, rows_after
from sow.jobs.database import Database
from sow.schema.change import Change


def read_after(
    database: Database, seq: int, wanted: Filter = EVERYTHING, *, limit: int = AT_ONCE
) -> list[Change]:
    """Return the first changes after a number, oldest first. Raises DamagedRecord."""
    return [change_of(row) for row in rows_after(database, seq, wanted, limit=limit)]
