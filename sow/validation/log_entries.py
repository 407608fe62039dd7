"""The entries of logs: those that cannot be read, each with its line, and when a task ended.

Owns these defects. What is taken for an entry is `state.log_reading`'s; all
else in a log is a person's own text.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from sow.clock import parse_time
from sow.files import NotAFile, read_regular
from sow.schema.task import Task
from sow.state.log_reading import endings_in, heads_in, readings_in
from sow.state.log_writing import LOG_FILE, LOG_LIMIT
from sow.state.status_entries import STATUS
from sow.state.task_log import read_entries
from sow.state.transitions import moment
from sow.validation.kinds import Defect, Kind
from sow.validation.marks import Hunk


def log_defects(path: Path) -> Iterator[Defect]:
    """Yield what is wrong with a log; nothing where there is none."""
    try:
        text = read_regular(path, LOG_LIMIT).decode("utf-8", "replace")
    except FileNotFoundError:
        return
    except NotAFile as error:
        yield Defect(kind=Kind.UNREADABLE, path=path, what=f"it cannot be read: {error.reason}")
        return
    for reading in readings_in(text.split("\n"), path):
        if reading.entry is None:
            line, what = reading.line + 1, f"an entry cannot be read: {reading.fault}"
            yield Defect(kind=Kind.LOG_ENTRY, path=path, line=line, what=what)


def is_within_entry(lines: Sequence[bytes], hunk: Hunk) -> bool:
    """Whether marks stand within the text of one entry: somebody has logged them."""
    words = [line.decode("utf-8", "replace").rstrip("\n") for line in lines]
    ends = endings_in(words)
    return any(
        head.after <= hunk.first and hunk.after <= ends.get(head.id, -1) for head in heads_in(words)
    )


def completed_at(folder: Path, task: Task) -> datetime | None:
    """Return the time of the entry that took a task to its status; None where the last does not."""
    try:
        entries = read_entries(folder / LOG_FILE)
    except NotAFile:
        return None
    changes = [entry for entry in entries if entry.event == STATUS]
    if not changes or f" to {task.status.value}" not in changes[-1].action:
        return None
    return moment(parse_time(changes[-1].timestamp))
