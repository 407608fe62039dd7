"""Output of programs whose format is not known: events where the shape is one of ours, else text.

Owns the order of guessing; knows no program.
"""

from msgspec.structs import replace

from sow.executors.base import Event, EventKind
from sow.executors.lines import lines_of_types
from sow.executors.stream import excerpt

EVENT_LINES = lines_of_types(
    "system", "assistant", "user", "rate_limit_event", "tool_call", "result"
)
"""Those of both shapes."""
LINE_LIMIT = 16_000
"""What is looked at of a line of text, in bytes."""


def read_plain_line(line: bytes) -> tuple[Event, ...]:
    """Return what a line tells. Never raises."""
    if line.lstrip().startswith(b"{"):
        # Who only places a job for such a program reads nothing of it.
        from sow.executors.claude_stream import read_claude_line
        from sow.executors.cursor_stream import read_cursor_line

        events = read_claude_line(line) or read_cursor_line(line)
        if events:
            return events
    return read_text_line(line)


def without_sessions(events: tuple[Event, ...]) -> tuple[Event, ...]:
    """Return the events of a program whose sessions, if it has any, cannot be resumed."""
    return tuple(
        replace(event, session_id=None) if event.session_id else event
        for event in events
        if event.kind is not EventKind.SESSION
    )


def read_text_line(line: bytes) -> tuple[Event, ...]:
    """Return a line as text; nothing for an empty one."""
    text = excerpt(line[:LINE_LIMIT].decode("utf-8", "replace"))
    return (Event(EventKind.TEXT, text=text),) if text else ()
