"""A task's `log.md`: what was done, entry by entry, appended and never rewritten.

Owns what a writer does besides writing (have put back what git took of the log),
and the reading of entries. Adding one imports no YAML library and no schema,
because agents call `sow agent log` all the time.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from sow.files import open_regular, read_regular, unreadable
from sow.state.kept.copies import end_of
from sow.state.kept.guard import see_to
from sow.state.kept.store import kept_for
from sow.state.log_writing import FENCE, LOG_FILE, LogEntry, write_entry

LAST_BYTES = 1 << 16
"""How much of a log's end is read for its last entries, as long as they lie in it."""
RESUMED = "Resumed with an answer or corrections"
STARTED_OVER = "Started over; the session before was"
"""How the entries begin in which sow keeps a caller's words: no agent has logged them."""
LOG_LIMIT = 64 << 20
"""The largest log that is shown, in bytes; it is read whole. An entry has some 200."""


def append_entry(folder: Path, entry: LogEntry) -> Path:
    """Add `entry` to the log in `folder`, as `write_entry` does, and return the log's path.

    What git took of the log is put back first. Raises StateLocked, NotWritten.
    """
    _look_at(folder / LOG_FILE)
    return write_entry(folder, entry)


def _look_at(path: Path) -> None:
    """Have a log put back that does not end as it was kept: it only ever grows."""
    kept = kept_for(path)
    if kept is None:
        return
    copy = end_of(kept.copy(kept.name(path)))
    if copy is not None and copy != end_of(str(path)):
        see_to(kept)


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
