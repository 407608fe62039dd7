"""Which form the queue's file is in, and which one this sow reads and writes.

Owns these numbers, and what each command asks an open file for. How a file comes to its
form, `making` and `migrations` know, which are imported where one is made or brought up.
"""

import sqlite3
from contextlib import suppress

FIRST_FORMAT = 1
FORMAT = 5
"""`pragma user_version` of the file as this sow writes it: the last file in `forms`."""


def format_of(connection: sqlite3.Connection) -> int:
    """Return which form a file is in. Raises sqlite3.Error."""
    return int(connection.execute("pragma user_version").fetchone()[0])


def maker_of(connection: sqlite3.Connection) -> str | None:
    """Return which sow has made the file's form, where the file tells it."""
    with suppress(sqlite3.Error):
        row = connection.execute("select value from control where name = 'made_by'").fetchone()
        return str(row[0]) if row is not None else None
    return None
