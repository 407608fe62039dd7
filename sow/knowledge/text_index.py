"""The words of all documents, searched by SQLite in memory.

The one place besides `sow.jobs` that knows SQL. Nothing is kept between two searches.
"""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import NamedTuple
from unicodedata import combining, normalize

from sow.errors import StateError, UsageError
from sow.knowledge.items import Item, files_of, text_at
from sow.paths import Workspace
from sow.terminal_text import readable

TABLE = """
create virtual table words using fts5 (
    place unindexed, title, summary, body, tokenize = 'unicode61 remove_diacritics 2'
)
"""
"""`place` is that of the document in the listing. Its path stands nowhere: it may be no text."""
FILL = "insert into words (place, title, summary, body) values (?, ?, ?, ?)"
FIND = """
select place, snippet(words, -1, '', '', '…', 24), body, bm25(words, 0, 10, 5, 1) as rank
from words where words match ?
"""
WORD = re.compile(r"\w+")
LARGEST_TEXT = 4 << 20
"""Of a longer document the beginning is searched."""
LONGEST_EXCERPT = 240


class Hit(NamedTuple):
    """A document in which all words stand."""

    item: Item
    path: str
    excerpt: str
    line: int | None
    """Where the first of the words stands; None where only title or summary have it."""


def search(workspace: Workspace, items: Sequence[Item], words: Sequence[str]) -> list[Hit]:
    """Return the documents that hold all words, or words that begin so; the best first.

    Raises UsageError, StateError.
    """
    found = (term for word in words for term in WORD.findall(normalize("NFC", word)))
    terms = [term for term in found if term.strip("_")]
    if not terms:
        raise UsageError(
            "there is no word to look for",
            hint="Name some, such as: sow knowledge search session token",
        )
    query = " ".join(f'"{term}"*' for term in terms)
    own = {item.path for item in items}  # a document of a project may be an item by itself
    listing = [
        (item, path)
        for item in items
        for path in files_of(workspace, item) or [item.path]
        if path == item.path or path not in own
    ]
    try:
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            connection.execute(TABLE)
            connection.execute("begin")
            connection.executemany(FILL, _rows(workspace, listing))
            rows = connection.execute(FIND, (query,)).fetchall()
    except sqlite3.Error as error:
        raise StateError(
            f"SQLite cannot search here: {error}",
            hint="Use a Python whose SQLite has FTS5, as those of Debian and python.org do;"
            " `sow knowledge list` works without.",
        ) from error
    return _hits(rows, listing, terms)


def _rows(
    workspace: Workspace, listing: Sequence[tuple[Item, str]]
) -> Iterator[tuple[int, str, str, str]]:
    seen: set[str] = set()
    for place, (item, path) in enumerate(listing):
        text = text_at(workspace, path)[:LARGEST_TEXT].replace("\0", " ")
        is_first = item.path not in seen
        seen.add(item.path)
        about = (readable(item.title), readable(item.summary)) if is_first else ("", "")
        yield (place, *about, text)


def _hits(
    rows: list[tuple[int, str, str, float]],
    listing: Sequence[tuple[Item, str]],
    terms: Sequence[str],
) -> list[Hit]:
    rows.sort(key=lambda row: (row[-1], listing[row[0]][1]))
    hits: list[Hit] = []
    for place, excerpt, body, _ in rows:
        item, path = listing[place]
        short = " ".join(excerpt.split())[:LONGEST_EXCERPT]
        hits.append(Hit(item, path, short, _line_of(body, terms)))
    return hits


def _line_of(body: str, terms: Sequence[str]) -> int | None:
    """Return the line of the first of the words, counted from 1: as the search takes words."""
    beginnings = "|".join(map(_pattern, terms))
    folded = _folded(body)
    found = re.search(rf"(?<![^\W_])(?:{beginnings})", folded)
    return folded.count("\n", 0, found.start()) + 1 if found else None


def _pattern(term: str) -> str:
    """Return the pattern of a word; FTS5 takes an underscore for what parts two."""
    return r"[\W_]+".join(map(re.escape, filter(None, _folded(term).split("_"))))


def _folded(text: str) -> str:
    """Return a text in small letters, without accents; its lines stay."""
    parts = text if text.isascii() else normalize("NFD", text)
    return "".join(letter for letter in parts if not combining(letter)).lower()
