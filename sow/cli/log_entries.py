"""Entries of a log as lines for people; imports no more than `sow task show` needs."""

from collections.abc import Iterator
from contextlib import suppress

from sow.clock import local_time, parse_time
from sow.files import NotAFile
from sow.state.log_writing import LogEntry
from sow.state.places import TaskPlace
from sow.state.task_log import last_entries
from sow.terminal_text import printable, printable_lines

SHOWN_ENTRIES = 3
"""How many entries `sow task show` tells."""
LOOKED_AT = 4 * SHOWN_ENTRIES
STATUS = "status"
"""The event of an entry that tells of a change of status."""


def entry_lines(entries: list[LogEntry]) -> Iterator[str]:
    """Yield entries for people: a line each, and below it what more there is to them."""
    for entry in entries:
        yield head_line(entry)
        for line in printable_lines(entry.text):
            yield f"    {line}".rstrip()
        if entry.files:
            yield f"    files: {', '.join(map(printable, entry.files))}"


def head_line(entry: LogEntry) -> str:
    """Return an entry's one line."""
    at = entry.timestamp
    with suppress(ValueError, OverflowError, OSError):  # a year that no calendar of the system has
        at = local_time(parse_time(at))
    result = f" ({printable(entry.result)})" if entry.result else ""
    return f"{at}  {printable(entry.agent)}  {printable(entry.action)}{result}"


def end_of_log(place: TaskPlace) -> list[str]:
    """Return the last entries of a task's log, a line each, or why it cannot be read.

    Changes of status are left out: where the task stands, its reader knows by then.
    """
    try:
        entries = last_entries(place.log, LOOKED_AT)
    except NotAFile as error:
        return [error.message]
    shown = [entry for entry in entries if entry.event != STATUS]
    return [head_line(entry) for entry in shown[-SHOWN_ENTRIES:]]
