"""Rows as records: the one mapping between the queue's columns and the structs of `schema.job`.

Owns which columns hold JSON. Knows nothing of what the records mean.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum, StrEnum
from typing import Any, TypeVar

import msgspec

from sow import terminal_text
from sow.errors import QueueError
from sow.ids import WorkerId
from sow.jobs.database import Database, Row
from sow.jobs.store import SHOWN_NUL

T = TypeVar("T", bound=msgspec.Struct)

JSON_COLUMNS = frozenset(
    {
        "executor",
        "corrections",
        "warnings",
        "denied_tools",
        "caller",
        "argv",
        "supervisor",
        "process",
        "terms",
        "budgets",
        "reached",
        "models",
        "totals",
        "selection",
        "policy",
        "data",
    }
)


WORDS = frozenset({"reason"})
"""The columns that may quote a file's name, which can be any bytes: SQLite holds text."""

NUL_IN_JSON = r"(?<!\\)((?:\\\\)*)\\u0000"
"""NUL as JSON names it, and not a backslash before the letters of it."""

NOTHING = "null"
"""What a column holds that an earlier form of the file has forbidden to be empty."""


def among(column: str, words: Iterable[StrEnum]) -> str:
    """Return the condition that a column holds one of these words.

    SQLite uses a partial index only where a query repeats the index's condition
    word for word; `database.ACTIVE` does so for the live states.
    """
    return f"{column} in ({', '.join(repr(word.value) for word in words)})"


class DamagedRecord(QueueError):
    """A row of the queue's file that somebody else has written: it is no record of ours."""

    def __init__(self, kind: type, row: Row, reason: str) -> None:
        from sow.schema.job import WorkerRecord  # not every reader of rows reads jobs

        names = [name for name in ("id", "job_id", "number", "seq") if name in row.keys()]  # noqa: SIM118
        which = ", ".join(f"{name} {row[name]}" for name in names)
        self.worker_id = WorkerId(str(row["id"])) if kind is WorkerRecord else None
        """The worker whose own record it is, if it is one's."""
        super().__init__(
            f"a record in the queue file is damaged: {_named(kind)} with {which}: {reason}",
            hint="A program other than sow wrote it. `sow doctor` checks the file. Repair the"
            " row with the sqlite3 program, or move the file away; sow then creates a new"
            " one.",
        )


def _named(kind: type) -> str:
    """Return what a person calls a kind of record: `worker record` for WorkerRecord."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind.__name__).lower()


def from_row(row: Row, kind: type[T]) -> T:
    """Return a row as a record; columns that the record lacks are passed over.

    Raises DamagedRecord.
    """
    try:
        return _from_row(row, kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise DamagedRecord(kind, row, str(error)) from error
    except KeyError as error:  # the table itself is not as ours
        missing = [name for name in kind.__struct_fields__ if name not in row.keys()]  # noqa: SIM118
        raise DamagedRecord(kind, row, f"there is no column {', '.join(missing)}") from error


def readable(
    rows: Iterable[Row], kind: type[T], on_damaged: Callable[[DamagedRecord], None]
) -> list[T]:
    """Return the rows that are records; of each other one `on_damaged` is told."""
    found = []
    for row in rows:
        try:
            found.append(from_row(row, kind))
        except DamagedRecord as error:
            on_damaged(error)
    return found


def refuse(error: DamagedRecord) -> None:
    """Raise what is wrong with a row: what a command does that cannot do without it."""
    raise error


def every(
    database: Database,
    kind: type[T],
    source: str,
    *values: Any,
    on_damaged: Callable[[DamagedRecord], None] = refuse,
) -> list[T]:
    """Return the rows of a table as records; `source` is what stands behind `from`.

    `on_damaged` is told of each row that is no record. Raises QueueError.
    """
    rows = database.rows(f"select * from {source}", values)  # noqa: S608 - words of ours
    found = readable(rows, kind, on_damaged)
    return found if database.as_here is None else [database.as_here(record) for record in found]


def first(database: Database, kind: type[T], source: str, *values: Any) -> T | None:
    """Return the first of the records that `every` would return; None without any."""
    row = database.row(f"select * from {source}", values)  # noqa: S608 - words of ours
    if row is None:
        return None
    found = from_row(row, kind)
    return found if database.as_here is None else database.as_here(found)


def taken(database: Database, rows: Iterable[Row], kind: type[T]) -> list[T]:
    """Return rows that were read as records, as `every` does. Raises DamagedRecord."""
    found = [from_row(row, kind) for row in rows]
    return found if database.as_here is None else [database.as_here(record) for record in found]


def _from_row(row: Row, kind: type[T]) -> T:
    # A row looks through all of its names for each that it is asked for.
    columns = dict(zip(row.keys(), row, strict=True))
    fields = {name: columns[name] for name in kind.__struct_fields__}
    for name in JSON_COLUMNS.intersection(fields):
        if _is_json(fields[name]):
            fields[name] = msgspec.json.decode(fields[name])
    return msgspec.convert(fields, kind, strict=False)


def _is_json(value: Any) -> bool:
    """Whether a column holds JSON. `null` stands in one that allows no NULL."""
    return isinstance(value, str) and (value[:1] in ("{", "[", '"') or value == NOTHING)


def _to_column(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in JSON_COLUMNS and not isinstance(value, str):
        return _as_json(value)
    if name in WORDS and isinstance(value, str):
        return terminal_text.readable(value)
    return value.value if isinstance(value, Enum) else value


def _as_json(value: Any) -> str:
    """Return a value as JSON, NUL shown: a server cannot look into JSON that names one."""
    text = msgspec.json.encode(value).decode()
    return re.sub(NUL_IN_JSON, rf"\1{SHOWN_NUL}", text) if r"\u0000" in text else text


def to_columns(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a record as SQLite stores them."""
    return {name: _to_column(name, value) for name, value in fields.items()}


def insert(database: Database, table: str, fields: Mapping[str, Any]) -> None:
    """Insert one row."""
    database.run(*_insertion(table, fields))


def insert_numbered(database: Database, table: str, fields: Mapping[str, Any]) -> int:
    """Insert one row into a table that numbers its rows, and return the row's number."""
    return database.insert(*_insertion(table, fields))


def _insertion(table: str, fields: Mapping[str, Any]) -> tuple[str, tuple[Any, ...]]:
    columns = to_columns(fields)
    names = ", ".join(columns)
    places = ", ".join("?" * len(columns))
    sql = f"insert into {table} ({names}) values ({places})"  # noqa: S608 - names are ours
    return sql, tuple(columns.values())


def update(
    database: Database, table: str, where: Mapping[str, Any], changes: Mapping[str, Any]
) -> int:
    """Change the rows that match `where` and return how many there were."""
    columns, keys = to_columns(changes), to_columns(where)
    assignments = ", ".join(f"{name} = ?" for name in columns)
    conditions = " and ".join(f"{name} = ?" for name in keys)
    return database.run(
        f"update {table} set {assignments} where {conditions}",  # noqa: S608 - names are ours
        (*columns.values(), *keys.values()),
    )
