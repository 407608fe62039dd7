"""The words of all documents, in an SQLite file of its own that nobody depends on.

The one place besides `sow.jobs` that knows SQL. Owns that the file is whole or is not there: it is
written under another name, renamed into place and never changed. Where it does not fit what lies
on the disk, cannot be read, or cannot be written, it is made anew, in memory if need be.
"""

import os
import re
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple
from unicodedata import combining, normalize

from sow.errors import StateError, UsageError
from sow.files import LeadsOut, open_folder
from sow.files.inside import PRIVATE
from sow.knowledge.items import Item, files_of, text_at
from sow.paths import Workspace
from sow.terminal_text import readable

FORM = 2
"""Raised with the tables; a file of another form is made anew."""
MARK = 0x736F776B
"""The `application_id` of such a file."""
TABLES = """
create table meta (fingerprint text not null);
create virtual table words using fts5 (
    place unindexed, title, summary, body, tokenize = 'unicode61 remove_diacritics 2'
);
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
DRAFT = ".knowledge.{}.tmp"
LONGEST_EXCERPT = 240
OLD_SECONDS = 600.0
"""A draft of that age belongs to somebody who was killed."""


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
    fingerprint = _fingerprint(workspace, listing)
    try:
        return _hits(_from_file(workspace, fingerprint), listing, query, terms)
    except sqlite3.Error:
        pass  # no file, another one, or a damaged one
    return _hits(_made_anew(workspace, listing, fingerprint), listing, query, terms)


def _from_file(workspace: Workspace, fingerprint: str) -> sqlite3.Connection:
    """Open the file if it fits. Raises sqlite3.Error."""
    if workspace.run.is_symlink() or not stat.S_ISREG(_mode(workspace.knowledge_text)):
        raise sqlite3.DatabaseError("it is not there")
    uri = f"{workspace.knowledge_text.absolute().as_uri()}?mode=ro&immutable=1"
    connection = sqlite3.connect(uri, uri=True)
    try:
        (mark,) = connection.execute("pragma application_id").fetchone()
        (form,) = connection.execute("pragma user_version").fetchone()
        (there,) = connection.execute("select fingerprint from meta").fetchone() or ("",)
        if (mark, form, there) != (MARK, FORM, fingerprint):
            raise sqlite3.DatabaseError("it is of other documents")
    except BaseException:
        connection.close()
        raise
    return connection


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except OSError:
        return 0


def _made_anew(
    workspace: Workspace, listing: Sequence[tuple[Item, str]], fingerprint: str
) -> sqlite3.Connection:
    """Return the index of all documents: in its file, or in memory where none can be written."""
    draft = workspace.knowledge_text.with_name(DRAFT.format(os.urandom(6).hex()))
    try:
        os.close(open_folder(workspace.run, makes=PRIVATE))
        if workspace.run.is_symlink():  # a repository may bring one along
            raise NotADirectoryError(workspace.run)
        _sweep(workspace.run)
        with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            _fill(workspace, connection, listing, fingerprint)
        draft.chmod(0o600)
        draft.replace(workspace.knowledge_text)
        return _from_file(workspace, fingerprint)
    except (OSError, LeadsOut, sqlite3.Error):
        connection = sqlite3.connect(":memory:", isolation_level=None)
        try:
            _fill(workspace, connection, listing, fingerprint)
        except sqlite3.Error as error:
            connection.close()
            why = str(error)
            raise StateError(
                f"SQLite cannot search here: {why}",
                hint="Use a Python whose SQLite has FTS5, as those of Debian and python.org do;"
                " `sow knowledge list` works without.",
            ) from error
        return connection
    finally:
        for left in (draft, Path(f"{draft}-journal")):
            with suppress(OSError):
                left.unlink(missing_ok=True)


def _fill(
    workspace: Workspace,
    connection: sqlite3.Connection,
    listing: Sequence[tuple[Item, str]],
    fingerprint: str,
) -> None:
    # A draft that is not whole is never looked at: it needs no journal, and no disk to wait for.
    connection.executescript(f"pragma journal_mode = off; pragma synchronous = off; {TABLES}")
    connection.execute("begin")
    connection.executemany(FILL, _rows(workspace, listing))
    connection.execute("insert into meta values (?)", (fingerprint,))
    connection.execute("commit")
    connection.execute(f"pragma application_id = {MARK}")
    connection.execute(f"pragma user_version = {FORM}")


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
    connection: sqlite3.Connection,
    listing: Sequence[tuple[Item, str]],
    query: str,
    terms: Sequence[str],
) -> list[Hit]:
    with closing(connection):
        rows = connection.execute(FIND, (query,)).fetchall()
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


def _fingerprint(workspace: Workspace, listing: Sequence[tuple[Item, str]]) -> str:
    """Return what tells the documents, as they lie on the disk, from others."""
    from hashlib import sha256  # it loads OpenSSL

    digest = sha256(f"{FORM}".encode())
    for item, path in listing:
        try:
            facts = (workspace.root / path).stat()
            stamp = f"{facts.st_size} {facts.st_mtime_ns} {facts.st_ino}"
        except (OSError, ValueError):
            stamp = ""
        line = "\0".join((item.id, item.title, item.summary, path, stamp))
        digest.update(f"{line}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _sweep(run: Path) -> None:
    """Remove the drafts of those that were killed; one that is still being written is made anew."""
    from time import time  # nothing else here asks for it

    for path in run.glob(DRAFT.format("*")):
        with suppress(OSError):
            if path.stat().st_mtime < time() - OLD_SECONDS:
                path.unlink()
