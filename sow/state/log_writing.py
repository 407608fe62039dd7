"""The form of an entry in `log.md`, and how one is written: Markdown below YAML frontmatter.

Owns both, and must not know of what git may have taken: the keeper of the copies
writes its own entries by this. Imports no YAML library and no schema, because
agents call `sow agent log` all the time.
"""

import os
from pathlib import Path
from typing import NamedTuple

from sow.files import NotWritten, append_durably, locked_once, open_regular
from sow.state.kept.copies import appended, size_of

LOG_FILE = "log.md"
FENCE = "---"

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_PLAIN = _LETTERS | frozenset("0123456789_./+ ")
_WORDS_OF_YAML = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class LogEntry(NamedTuple):
    """One entry. `timestamp` is UTC, as `2026-01-31T12:00:00Z`; `text` is Markdown."""

    timestamp: str
    agent: str
    action: str
    result: str = ""
    files: tuple[str, ...] = ()
    text: str = ""


def write_entry(folder: Path, entry: LogEntry) -> Path:
    """Add `entry` to the log in `folder`, whole and durable, and return the log's path.

    Any number of writers may do so at once. Raises StateLocked, NotWritten.
    """
    path = folder / LOG_FILE
    data = format_entry(entry).encode()
    with locked_once(folder):
        piece, size = _gap(path) + data, max(0, size_of(str(path)))
        append_durably(path, piece)
        appended(path, piece, size)
    return path


def _gap(path: Path) -> bytes:
    """Return what parts the next entry from the last, which a crash may have torn."""
    try:
        descriptor = open_regular(path)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise NotWritten(path, error) from error
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        if file.seek(0, 2) == 0:
            return b""
        file.seek(-1, 2)
        return b"\n" if file.read(1) == b"\n" else b"\n\n"


def format_entry(entry: LogEntry) -> str:
    """Return the entry as it stands in the file, with a newline at its end."""
    lines = [
        FENCE,
        f"timestamp: {entry.timestamp}",
        f"agent: {quote(entry.agent)}",
        f"action: {quote(entry.action)}",
    ]
    if entry.result:
        lines.append(f"result: {quote(entry.result)}")
    if entry.files:
        lines.append(f"files: [{', '.join(quote(file) for file in entry.files)}]")
    lines.append(FENCE)
    text = _readable(entry.text).strip("\n")
    if text:
        lines.append("")
        lines.extend(_indent_fence(line) for line in text.split("\n"))
    return "\n".join(lines) + "\n"


def _indent_fence(line: str) -> str:
    return f" {line}" if line.rstrip() == FENCE else line


def quote(text: str) -> str:
    """Return `text` as a YAML scalar on one line: plain where that is safe, else double-quoted."""
    text = _readable(text)
    if _is_plain(text):
        return text
    return f'"{"".join(_escaped(character) for character in text)}"'


def _is_plain(text: str) -> bool:
    """Whether YAML reads `text` as the same string without quotes; when in doubt, no."""
    return (
        text[:1] in _LETTERS
        and text[-1] != " "
        and _PLAIN.issuperset(text)
        and text.lower() not in _WORDS_OF_YAML
    )


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )


def _readable(text: str) -> str:
    """Return `text` with bytes of the command line that were no UTF-8 replaced."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
