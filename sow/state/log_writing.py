"""The form of an entry in `log.md`, and how one is written: Markdown below YAML frontmatter.

Owns both, and must not know of what git may have taken: the keeper of the copies
writes its own entries by this. Imports no YAML library and no schema, because
agents call `sow agent log` all the time.

An entry's id stands in its first line and its last, and between its keys, so
that no two frontmatters have more than three lines in a row in common. Git's
`merge=union` takes longer runs for the same, and fuses what two branches have
appended; shorter ones it leaves with their neighbours (xdiff's zealous merge).
"""

import os
from pathlib import Path
from typing import NamedTuple

from sow.errors import StateError
from sow.files import NotWritten, append_whole, locked_once, open_regular
from sow.state.authors import ID_DIGITS, Author
from sow.state.kept.copies import appended, size_of
from sow.terminal_text import readable

LOG_FILE = "log.md"
FENCE = "---"
BEGINNING, SEAM, ENDING = ("id: ", ""), ("# ", ""), ("<!-- ", " -->")
"""The first line of an entry, below its fence; what stands after every third key and the last one,
a comment to YAML; and what ends a text, a comment to Markdown: each has the id in the middle."""
KEYS_BETWEEN_SEAMS = 3
LAST_BYTES = 1 << 16
"""How much of a log's end is looked at for an entry that is there already."""
LOG_LIMIT = 64 << 20
"""The largest log that is shown, in bytes; it is read whole. An entry has some 200."""
AGENTS_LIMIT = LOG_LIMIT // 2
"""The size from which on agents add nothing: the rest is for what sow itself tells."""
MARKS = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
"""How the lines begin that git leaves in a conflict."""

_HEXADECIMAL = frozenset("0123456789abcdef")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_PLAIN = _LETTERS | frozenset("0123456789_./+ ")
_WORDS_OF_YAML = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class LogEntry(NamedTuple):
    """One entry. `timestamp` is UTC, as `2026-01-31T12:00:00Z`; `text` is Markdown."""

    timestamp: str
    agent: str
    """Who wrote it: a role, `person`, or `sow` itself."""
    action: str
    result: str = ""
    files: tuple[str, ...] = ()
    text: str = ""
    role: str = ""
    """Of what sow writes, the role that it is about."""
    job: int | None = None
    attempt: int | None = None
    """The attempt's number within its job."""
    event: str = ""
    """`status`, `state`, `job` and the like where sow tells of what has changed."""
    id: str = ""
    """Twelve hexadecimal digits; made when it is written. Older entries have none."""


def id_in(line: str, form: tuple[str, str]) -> str:
    """Return the id in a line that has one of the forms above; empty where it has not."""
    before, after = form
    if not (line.startswith(before) and line.endswith(after)):
        return ""
    found = line[len(before) : len(line) - len(after)]
    return found if len(found) == ID_DIGITS and _HEXADECIMAL.issuperset(found) else ""


def new_entry_id() -> str:
    """Return an id that no other entry has."""
    return os.urandom(6).hex()


def write_entry(folder: Path, entry: LogEntry, *, durable: bool = True) -> Path:
    """Add `entry` to the log in `folder`, whole and durable, and return the log's path.

    One that need not be `durable` may be lost with the power until the next one that is.
    Any number of writers may do so at once. Raises StateLocked, NotWritten.
    """
    path = folder / LOG_FILE
    data = format_entry(entry if entry.id else entry._replace(id=new_entry_id())).encode()
    with locked_once(folder):
        _append(path, _gap(path) + data, durable=durable)
    return path


def is_full(folder: Path) -> bool:
    """Whether the log in `folder` takes no more entries of agents."""
    return size_of(str(folder / LOG_FILE)) >= AGENTS_LIMIT


def is_carried_out(folder: Path, by: Author) -> bool:
    """Whether the report that a worker carries out as `by` is in the log: it was so before."""
    return bool(by.entry_id) and has_entry(folder, by.entry_id, within=LOG_LIMIT)


def write_missing_entry(folder: Path, entry: LogEntry, *, durable: bool = True) -> bool:
    """Do as `write_entry` unless `has_entry`, in one look at the log; tell whether it was written.

    `entry` has its id, and no text.
    """
    path = folder / LOG_FILE
    with locked_once(folder):
        end = _end_of(path)
        if _is_whole_in(end, entry.id, has_text=False):
            return False
        gap = _gap(path) if end is None else _gap_behind(end)
        _append(path, gap + format_entry(entry).encode(), durable=durable)
    return True


def _append(path: Path, piece: bytes, *, durable: bool) -> None:
    size = max(0, size_of(str(path)))
    append_whole(path, piece, durable=durable)
    appended(path, piece, size)


def has_entry(
    folder: Path, entry_id: str, *, has_text: bool = False, within: int = LAST_BYTES
) -> bool:
    """Whether the log in `folder` has an entry of this id near its end, and has it whole.

    What was written last may have been torn by a loss of power. `has_text` tells whether the
    entry is one with a text, `within` how many bytes are looked at.
    """
    return _is_whole_in(_end_of(folder / LOG_FILE, within), entry_id, has_text=has_text)


def _end_of(path: Path, within: int = LAST_BYTES) -> bytes | None:
    """Return so many bytes of a log's end; None where it cannot be read."""
    try:
        descriptor = open_regular(path)
    except (OSError, StateError):
        return None
    try:
        size = os.fstat(descriptor).st_size
        return os.pread(descriptor, within, max(0, size - within))
    finally:
        os.close(descriptor)


def _is_whole_in(data: bytes | None, entry_id: str, *, has_text: bool) -> bool:
    ends = _ends_of(entry_id, has_text=has_text)
    return data is not None and any(end.encode() in data for end in ends)


def _ends_of(entry_id: str, *, has_text: bool) -> tuple[str, ...]:
    """Return what only a whole entry has: its last line, and where that is a seam the next one.

    Behind every other seam stands a key. Git's `merge=union` may have put another entry's keys
    where the fence was.
    """
    if has_text:
        return (f"\n<!-- {entry_id} -->\n",)
    return f"\n# {entry_id}\n{FENCE}\n", f"\n# {entry_id}\nid: "


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
        return _gap_behind(file.read(1))


def _gap_behind(end: bytes) -> bytes:
    """Return the same of a log that ends so."""
    if not end:
        return b""
    return b"\n" if end.endswith(b"\n") else b"\n\n"


def format_entry(entry: LogEntry) -> str:
    """Return the entry as it stands in the file, with a newline at its end."""
    lines = [FENCE, *_frontmatter(entry), FENCE]
    text = readable(entry.text).strip("\n")
    if text:
        lines.append("")
        lines.extend(map(_indented, text.split("\n")))
        lines.extend([f"<!-- {entry.id} -->"] if entry.id else [])
    return "\n".join(lines) + "\n"


def _frontmatter(entry: LogEntry) -> list[str]:
    """Return the lines between the fences."""
    keys = _keys(entry)
    if not entry.id:
        return keys
    lines = [f"id: {entry.id}"]
    for start in range(0, len(keys), KEYS_BETWEEN_SEAMS):
        lines += [*keys[start : start + KEYS_BETWEEN_SEAMS], f"# {entry.id}"]
    return lines


def _keys(entry: LogEntry) -> list[str]:
    """Return the keys of an entry, a line each; those without a value are left out."""
    lines = [
        f"timestamp: {entry.timestamp}",
        f"agent: {quote(entry.agent)}",
        f"action: {quote(entry.action)}",
    ]
    for name in ("result", "role", "event"):
        if value := getattr(entry, name):
            lines.append(f"{name}: {quote(value)}")
    for name in ("job", "attempt"):
        if (number := getattr(entry, name)) is not None:
            lines.append(f"{name}: {number}")
    if entry.files:
        lines.append(f"files: [{', '.join(quote(file) for file in entry.files)}]")
    return lines


def _indented(line: str) -> str:
    """Return a line of free text so that it is taken neither for the form nor for git's marks."""
    bare = line.rstrip()
    is_form = bare == FENCE or any(id_in(bare, form) for form in (BEGINNING, SEAM, ENDING))
    return f" {line}" if is_form or bare.startswith(MARKS) else line


def quote(text: str) -> str:
    """Return `text` as a YAML scalar on one line: plain where that is safe, else double-quoted."""
    text = readable(text)
    if _is_plain(text):
        return text
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
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
