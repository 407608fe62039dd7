"""Rows of PostgreSQL as all of `sow.jobs` reads them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from psycopg import Cursor
from psycopg.adapt import Loader


class ServerRow(Sequence[Any]):
    """A row of a query, as `store.Row` has it."""

    __slots__ = ("_places", "_values")

    def __init__(self, places: Mapping[str, int], values: Sequence[Any]) -> None:
        self._places, self._values = places, values

    def __getitem__(self, name: Any) -> Any:
        return self._values[self._places[name] if isinstance(name, str) else name]

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def keys(self) -> list[str]:
        """Return the names of the columns."""
        return list(self._places)


def rows_of(cursor: Cursor[Any]) -> Callable[[Sequence[Any]], ServerRow]:
    """Return what makes a row of the values that a cursor reads; psycopg asks for it."""
    places = {column.name: place for place, column in enumerate(cursor.description or ())}
    return lambda values: ServerRow(places, values)


class WholeLoader(Loader):
    """Of a `numeric`, as sums of whole numbers are: a whole number, as with SQLite, or a float."""

    def load(self, data: Any) -> Any:
        """Return the value of a text."""
        text = bytes(data).decode()
        return int(text) if text.lstrip("-").isdecimal() else float(text)
