"""The entries in the logs that tell of changes of status, and of state, by whom they were made.

Owns their words. A log that takes no entry keeps nobody from the change: the
state stands in `state.yaml`, and the entry only tells how it came to that.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from sow.clock import format_time
from sow.errors import StateError
from sow.schema.task import Task
from sow.state.authors import Author
from sow.state.log_writing import LogEntry, new_entry_id, write_entry

STATUS, STATE, JOB, FIELD = "status", "state", "job", "field"
ARTIFACT, FEEDBACK, APPROVAL = "artifact", "feedback", "approval"
"""What an entry of sow's own tells of."""


def status_entry(
    before: Task, changes: Mapping[tuple[str, ...], object], by: Author, *, now: float
) -> list[LogEntry]:
    """Return the entry that tells of a change of a task's status; none where it stays.

    Of a report every change is told: by the entry it is known where it comes a second time.
    """
    status = changes.get(("task", "status"))
    if status is None and not by.entry_id:
        return []
    if status is None:
        names = (".".join(path[1:]) for path in changes if path != ("task", "updated_at"))
        return [change_entry(f"Changed: {', '.join(names)}", FIELD, by, now=now)]
    iteration = changes.get(("task", "iteration"))
    again = f", iteration {iteration}" if iteration is not None else ""
    action = f"Status: {before.status.value} to {status}{again}"
    return [change_entry(action, STATUS, by, now=now)]


def log_change(
    folder: Path,
    action: str,
    event: str,
    by: Author,
    *,
    now: float,
    text: str = "",
    entry_id: str = "",
) -> None:
    """Append an entry about a change to the log in `folder`. Raises nothing.

    Entries of one `entry_id` (twelve hexadecimal digits) are read as one.
    """
    entry = change_entry(action, event, by, now=now, text=text, entry_id=entry_id)
    with suppress(StateError, OSError):
        write_entry(folder, entry)


def change_entry(
    action: str, event: str, by: Author, *, now: float, text: str = "", entry_id: str = ""
) -> LogEntry:
    """Return the entry that tells of a change. It has an id of its own where none is given."""
    return LogEntry(
        timestamp=format_time(now),
        agent=by.agent,
        action=action,
        text=text,
        role=by.role,
        job=by.job,
        attempt=by.attempt,
        event=event,
        id=entry_id or by.entry_id or new_entry_id(),
    )
