"""A verdict and its feedback for people, in a few words each. Light, for `sow task show`."""

from typing import TYPE_CHECKING

from msgspec import UNSET

from sow.terminal_text import printable

if TYPE_CHECKING:
    from sow.schema.task import Task


def verdict_words(task: "Task") -> str:
    """Return the last verdict, who gave it and on which commit; empty before one."""
    if task.review is UNSET:
        return ""
    of = f", on {task.review.commit[:12]}" if task.review.commit is not UNSET else ""
    return f"{task.review.verdict} by {task.review.by}{of}"


def steering_words(task: "Task") -> str:
    """Return the files of the judged change that steer agents or machines; empty without any."""
    return "" if task.review is UNSET else ", ".join(map(printable, task.review.steers))


def steering_note(task: "Task") -> str:
    """Return the same as a note, for tables."""
    words = steering_words(task)
    return f"steers agents or machines: {words}" if words else ""


def feedback_words(found: object) -> str:
    """Return an entry of `feedback`: the file and where it stands, or the text that it is."""
    if isinstance(found, dict) and "file" in found:
        return f"{found['file']} ({found.get('status', 'open')})"
    return str(found)
