"""When a task has ended, by the word of its log."""

from datetime import datetime
from pathlib import Path

from sow.clock import parse_time
from sow.files import NotAFile
from sow.schema.task import Task
from sow.state.log_writing import LOG_FILE
from sow.state.status_entries import STATUS
from sow.state.task_log import read_entries
from sow.state.transitions import moment


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
