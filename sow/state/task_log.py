"""`log.md`: what was done, entry by entry, appended and never rewritten.

Owns the form of an entry: Markdown below YAML frontmatter. Writing imports no
YAML library and no schema, because agents call `sow agent log` all the time.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from sow.files import (
    NotWritten,
    append_durably,
    locked_once,
    open_regular,
    read_regular,
    unreadable,
)
from sow.state.kept.copies import appended, end_of, size_of
from sow.state.kept.guard import see_to
from sow.state.kept.store import kept_for

LOG_FILE = "log.md"
FENCE = "---"
LAST_BYTES = 1 << 16
"""How much of a log's end is read for its last entries, as long as they lie in it."""
LOG_LIMIT = 64 << 20
"""The largest log that is shown, in bytes; it is read whole. An entry has some 200."""

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


def append_entry(folder: Path, entry: LogEntry, *, looks: bool = True) -> Path:
    """Add `entry` to the log in `folder`, whole and durable, and return the log's path.

    Any number of writers may do so at once. `looks` is for all but the keeper of copies
    itself, which would come back here for as long as git takes the log. Raises StateLocked,
    NotWritten.
    """
    path = folder / LOG_FILE
    data = format_entry(entry).encode()
    if looks:
        _look_at(path)
    with locked_once(folder):
        piece, size = _gap(path) + data, max(0, size_of(str(path)))
        append_durably(path, piece)
        appended(path, piece, size)
    return path


def _look_at(path: Path) -> None:
    """Have a log put back that does not end as it was kept: it only ever grows."""
    kept = kept_for(path)
    if kept is None:
        return
    copy = end_of(kept.copy(kept.name(path)))
    if copy is not None and copy != end_of(str(path)):
        see_to(kept)


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


def read_entries(path: Path) -> list[LogEntry]:
    """Return the whole entries of a log in their order; none if there is no file.

    What is no entry (a torn one, lines of a person) is passed over. Raises NotAFile.
    """
    try:
        text = read_regular(path, LOG_LIMIT).decode("utf-8", "replace")
    except FileNotFoundError:
        return []
    return list(_entries(text.split("\n"), path))


def last_entries(path: Path, count: int) -> list[LogEntry]:
    """Return the last `count` whole entries of a log in their order, as `read_entries` would.

    Of a long log only the end is read. Raises NotAFile.
    """
    try:
        size = path.stat().st_size
    except OSError:
        size = 0
    if size > LAST_BYTES:
        entries = list(_entries(_begun_in_entry(_end_of_file(path)), path))
        if len(entries) >= count:
            return entries[-count:]
    return read_entries(path)[-count:]


def _end_of_file(path: Path) -> list[str]:
    try:
        descriptor = open_regular(path)
    except OSError as error:
        raise unreadable(path, error) from error
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        file.seek(-LAST_BYTES, os.SEEK_END)
        return file.read(LAST_BYTES).decode("utf-8", "replace").split("\n")


def _begun_in_entry(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines from the first on that begins an entry for certain."""
    for index in range(1, len(lines)):
        if lines[index - 1].rstrip() == FENCE and lines[index].startswith("timestamp:"):
            return lines[index - 1 :]
    return ()


def _entries(lines: Sequence[str], path: Path) -> Iterator[LogEntry]:
    fences = [index for index, line in enumerate(lines) if line.rstrip() == FENCE]
    fences.append(len(lines))
    position = 0
    while position + 2 < len(fences):
        opening, closing, following = fences[position : position + 3]
        body = lines[closing + 1 : following]
        entry = _parse(lines[opening + 1 : closing], body, path)
        torn = entry is None or (body and body[0].startswith("timestamp:"))
        if entry is not None and not torn:
            yield entry
        position += 1 if torn else 2


def _parse(frontmatter: Sequence[str], body: Sequence[str], path: Path) -> LogEntry | None:
    from sow.clock import format_time
    from sow.schema.log_entry import LogFrontmatter
    from sow.yamlfile import YamlProblem, read_yaml

    try:
        head = read_yaml("\n".join(frontmatter).encode(), LogFrontmatter, path=path)
    except YamlProblem:
        return None
    return LogEntry(
        timestamp=format_time(head.timestamp.timestamp()),
        agent=head.agent,
        action=head.action,
        result=head.result,
        files=tuple(head.files),
        text="\n".join(body).strip("\n"),
    )
