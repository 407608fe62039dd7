"""Statements of ours as psycopg takes them: the marks of their values, and no hints to SQLite.

Owns the translation. All else in a statement both stores read alike; the functions that it calls
by SQLite's names stand in `server_forms`.
"""

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any

from sow.jobs.store import SHOWN_NUL

TOKEN = re.compile(
    r"""
    (?P<text>'(?:[^']|'')*')
    | (?P<hint>\bindexed\ by\ \w+ | \+(?=[a-z_]))
    | \?(?P<place>\d*)
    | :(?P<name>[a-z_]+)
    | (?P<percent>%)
    """,
    re.VERBOSE,
)
"""What is not copied. A plus right before a column keeps SQLite from using an index."""
NUL = "\0"
"""What no text may hold in PostgreSQL."""


@cache
def translated(sql: str) -> str:
    """Return a statement with psycopg's marks; those of numbered values are named by `value_…`."""
    return TOKEN.sub(_token, sql)


def _token(found: re.Match[str]) -> str:
    if found["text"] is not None:
        return found["text"].replace("%", "%%")
    if found["hint"] is not None:
        return ""
    if found["percent"] is not None:
        return "%%"
    if found["name"] is not None:
        return f"%({found['name']})s"
    return f"%(value_{found['place']})s" if found["place"] else "%s"


def values_for(
    sql: str, parameters: Sequence[Any] | Mapping[str, Any]
) -> Sequence[Any] | Mapping[str, Any]:
    """Return the values of a statement as `translated` names them."""
    if isinstance(parameters, Mapping):
        return {name: _value(value) for name, value in parameters.items()}
    values = [_value(value) for value in parameters]
    if "?1" in sql:
        return {f"value_{place}": value for place, value in enumerate(values, start=1)}
    return values


def _value(value: Any) -> Any:
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, str) and NUL in value:
        return value.replace(NUL, SHOWN_NUL)
    return value
