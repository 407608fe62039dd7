"""The record of changes as its readers see it: where a reader stands, and what came after.

Owns the cursor's form and the SQL of reading and pruning. Rows of jobs are
written by triggers (`forms`), rows of tasks by `statuses`. A row's number
grows with the commits: who has read up to one misses none that comes later.
"""

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from sow.errors import UsageError
from sow.ids import BatchId, JobId, ProjectId, TaskId
from sow.jobs import records
from sow.jobs.database import Database, Row

if TYPE_CHECKING:
    from sow.schema.change import Change

FORGOTTEN = "changes forgotten up to"
"""The row of `control` that holds the number of the newest row that was pruned."""
AT_ONCE = 1000
"""How many rows are read at once."""


class Cursor(NamedTuple):
    """How far a reader has come: the queue file, by its id, and the last number read."""

    file: str
    seq: int

    def __str__(self) -> str:
        return f"{self.file}-{self.seq}"


FROM_THE_BEGINNING = "0"
"""What stands for a cursor before all that is on record."""


class Filter(NamedTuple):
    """Which changes a reader asks for; what is None leaves out nothing."""

    project: ProjectId | None = None
    task: TaskId | None = None
    job: JobId | None = None
    batch: BatchId | None = None


EVERYTHING = Filter()


def parse_since(text: str) -> Cursor | None:
    """Return the cursor that somebody has given; None for the beginning. Raises UsageError."""
    return None if text == FROM_THE_BEGINNING else parse_cursor(text)


def parse_cursor(text: str) -> Cursor:
    """Return the cursor that a text is. Raises UsageError."""
    found = re.fullmatch(r"([0-9a-f]{12})-([0-9]{1,18})", text, re.ASCII)
    if found is None:
        raise UsageError(
            f"not a cursor: {text!r}",
            hint="Give --since the cursor that an earlier call printed, or the `cursor` of a"
            " line of `sow changes --json`. 0 means the beginning.",
        )
    return Cursor(found[1], int(found[2]))


def file_id(database: Database) -> str:
    """Return the id that was made with the queue's file."""
    return database.noted_for_good("file_id") or "0" * 12


def newest(database: Database) -> Cursor:
    """Return the cursor after all that is on record."""
    seq = database.value("select seq from sqlite_sequence where name = 'change'")
    return Cursor(file_id(database), int(seq or 0))


def forgotten(database: Database) -> int:
    """Return the number up to which the record was pruned; 0 where it never was."""
    return int(database.noted(FORGOTTEN) or 0)


def rows_after(
    database: Database, seq: int, wanted: Filter = EVERYTHING, *, limit: int = AT_ONCE
) -> list[Row]:
    """Return the rows of the first changes after a number, oldest first, each to be read alone."""
    where, values = _conditions(wanted)
    sql = f"select * from change where seq > ?{where} order by seq limit ?"  # noqa: S608 - ours
    return database.rows(sql, (seq, *values, limit))


def seq_before_last(database: Database, count: int, wanted: Filter = EVERYTHING) -> int:
    """Return the number after which the last `count` changes stand."""
    where, values = _conditions(wanted)
    sql = f"select seq from change where true{where} order by seq desc limit 1 offset ?"  # noqa: S608
    return int(database.value(sql, (*values, count)) or 0)


def _conditions(wanted: Filter) -> tuple[str, tuple[object, ...]]:
    given = {name: value for name, value in wanted._asdict().items() if value is not None}
    return "".join(f" and {name} = ?" for name in given), tuple(given.values())


def change_of(row: Row) -> "Change":
    """Return a row as the change that it tells of. Raises DamagedRecord."""
    from sow.schema.change import Change  # who asks for the newest number reads none

    return records.from_row(row, Change)


def count_before(database: Database, at: float, *, now: float = math.inf) -> int:
    """Return how many changes `forget_before` would remove."""
    first = first_since(database, at, now)
    return int(database.value("select count(*) from change where seq < ?", (first,)))


def forget_before(database: Database, at: float, *, now: float = math.inf) -> int:
    """Remove the changes up to the first one that is not older than `at`; return how many.

    What is left has no gap, so that one number tells a reader what is gone. A
    time after `now` was written while the clock was wrong. It keeps nothing
    where there are others, or the record would grow until that time has come.
    """
    with database.transaction():
        first = first_since(database, at, now)
        gone = database.run("delete from change where seq < ?", (first,))
        if gone:
            database.note(FORGOTTEN, first - 1)
        return gone


def first_since(database: Database, at: float, now: float = math.inf) -> int:
    """Return the number of the first change that is not older than `at`, or of the next to come."""
    for latest in (now, math.inf):
        sql = "select seq from change where at between ? and ? order by seq limit 1"
        seq = database.value(sql, (at, latest))
        if seq is not None:
            return int(seq)
    return newest(database).seq + 1
