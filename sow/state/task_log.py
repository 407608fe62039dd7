"""A task's `log.md`: what was done, entry by entry, appended and never rewritten.

Owns what a writer does besides writing (have put back what git took of the log),
and the reading of entries. Adding one imports no YAML library and no schema,
because agents call `sow agent log` all the time.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from sow.files import open_regular, read_regular, unreadable
from sow.state.due_entries import settle
from sow.state.kept.copies import end_of
from sow.state.kept.guard import restore
from sow.state.kept.store import kept_for
from sow.state.log_writing import (
    BEGINNING,
    FENCE,
    LOG_FILE,
    LOG_LIMIT,
    LogEntry,
    id_in,
    write_entry,
)

LAST_BYTES = 1 << 16
"""How much of a log's end is read for its last entries, as long as they lie in it."""
RESUMED = "Resumed with an answer or corrections"
STARTED_OVER = "Started over; the session before was"
"""How the entries begin in which sow keeps a caller's words: no agent has logged them."""


def append_entry(folder: Path, entry: LogEntry) -> Path:
    """Add `entry` to the log in `folder`, as `write_entry` does, and return the log's path.

    What git took of the log is put back first. Raises StateLocked, NotWritten.
    """
    _look_at(folder / LOG_FILE)
    settle(folder)
    return write_entry(folder, entry)


def _look_at(path: Path) -> None:
    """Have a log put back that does not end as it was kept: it only ever grows."""
    kept = kept_for(path)
    if kept is None:
        return
    copy = end_of(kept.copy(kept.name(path)))
    if copy is not None and copy != end_of(str(path)):
        restore(kept)


def read_entries(path: Path) -> list[LogEntry]:
    """Return the whole entries of a log in their order; none if there is no file.

    What is no entry (a torn one, lines of a person) is passed over. What a killed command
    owes the log is written first. Raises NotAFile.
    """
    settle(path.parent)
    return _all_entries(path, with_events=True)


def _all_entries(path: Path, *, with_events: bool) -> list[LogEntry]:
    try:
        text = read_regular(path, LOG_LIMIT).decode("utf-8", "replace")
    except FileNotFoundError:
        return []
    return _entries(text.split("\n"), path, with_events=with_events)


def last_entries(path: Path, count: int, *, with_events: bool = True) -> list[LogEntry]:
    """Return the last `count` whole entries of a log in their order, as `read_entries` would.

    Of a long log only the end is read. Without `with_events` those are left out that tell of a
    change, as most of what sow writes does. Raises NotAFile.
    """
    settle(path.parent)
    try:
        size = path.stat().st_size
    except OSError:
        size = 0
    if size > LAST_BYTES:
        lines = _begun_in_entry(_end_of_file(path))
        entries = _entries(lines, path, with_events=with_events)
        if len(entries) >= count:
            return entries[-count:]
    return _all_entries(path, with_events=with_events)[-count:]


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
        begins = lines[index].startswith("timestamp:") or id_in(lines[index], BEGINNING)
        if begins and lines[index - 1].rstrip() == FENCE:
            return lines[index - 1 :]
    return ()


def _entries(lines: Sequence[str], path: Path, *, with_events: bool) -> list[LogEntry]:
    # Who only adds an entry needs no reader.
    from sow.state.log_reading import entries_in

    return entries_in(lines, path, with_events=with_events)
