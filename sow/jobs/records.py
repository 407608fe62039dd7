"""Rows as records: the one mapping between SQLite's columns and the structs of `schema.job`.

Owns which columns hold JSON. Knows nothing of what the records mean.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from enum import Enum, StrEnum
from typing import Any, TypeVar

import msgspec

from sow.jobs.database import Database

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
    }
)


def among(column: str, words: Iterable[StrEnum]) -> str:
    """Return the condition that a column holds one of these words.

    SQLite uses a partial index only where a query repeats the index's condition
    word for word: that of the live states stands in `migrations` once more.
    """
    return f"{column} in ({', '.join(repr(word.value) for word in words)})"


def from_row(row: sqlite3.Row, kind: type[T]) -> T:
    """Return a row as a record; columns that the record lacks are passed over."""
    fields = {
        name: msgspec.json.decode(row[name])
        if name in JSON_COLUMNS and isinstance(row[name], str) and row[name][:1] in '{["'
        else row[name]
        for name in kind.__struct_fields__
    }
    return msgspec.convert(fields, kind, strict=False)


def _to_column(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in JSON_COLUMNS and not isinstance(value, str):
        return msgspec.json.encode(value).decode()
    return value.value if isinstance(value, Enum) else value


def to_columns(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a record as SQLite stores them."""
    return {name: _to_column(name, value) for name, value in fields.items()}


def insert(database: Database, table: str, fields: Mapping[str, Any]) -> int:
    """Insert one row and return its row id."""
    columns = to_columns(fields)
    names = ", ".join(columns)
    places = ", ".join("?" * len(columns))
    cursor = database.run(
        f"insert into {table} ({names}) values ({places})",  # noqa: S608 - names are ours
        tuple(columns.values()),
    )
    return cursor.lastrowid or 0


def update(
    database: Database, table: str, where: Mapping[str, Any], changes: Mapping[str, Any]
) -> int:
    """Change the rows that match `where` and return how many there were."""
    columns, keys = to_columns(changes), to_columns(where)
    assignments = ", ".join(f"{name} = ?" for name in columns)
    conditions = " and ".join(f"{name} = ?" for name in keys)
    cursor = database.run(
        f"update {table} set {assignments} where {conditions}",  # noqa: S608 - names are ours
        (*columns.values(), *keys.values()),
    )
    return cursor.rowcount
