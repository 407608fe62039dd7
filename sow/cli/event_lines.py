"""An agent's events as lines for people: a mark for the kind, colours for what went wrong.

Pure. Owns the marks, and how much of a tool's answer is shown.
"""

from collections.abc import Callable, Iterator

from sow.reports.agent_events import Event, Kind

MARKS = {
    Kind.TEXT: "  ",
    Kind.TOOL: "> ",
    Kind.TOOL_RESULT: "< ",
    Kind.ERROR: "! ",
    Kind.RETRY: "! ",
    Kind.RESULT: "= ",
    Kind.NOTE: "- ",
}
COLOURS = {Kind.TOOL: "running", Kind.RETRY: "warning", Kind.RESULT: "completed"}
"""As which state each kind is coloured, where it is."""

Paint = Callable[[str, str], str]
"""Returns a text in the colour of a state, given the state's word."""


def lines_of(event: Event, paint: Paint = lambda _, text: text) -> Iterator[str]:
    """Yield an event's lines; of what a tool has answered well the first, and how many more."""
    mark = MARKS[event.kind]
    word = "error" if event.failed and event.kind is not Kind.RETRY else COLOURS.get(event.kind, "")
    for number, line in enumerate(_texts(event)):
        shown = f"{' ' * len(mark) if number else mark}{line}".rstrip()
        yield paint(word, shown) if word and shown else shown


def _texts(event: Event) -> list[str]:
    lines = event.body.split("\n") if event.body else []
    if event.kind is Kind.TOOL_RESULT and not event.failed and len(lines) > 1:
        more = len(lines) - 1
        return [f"{event.title} (+{more} line{'s' if more > 1 else ''})"]
    if event.kind is Kind.RETRY and lines:
        return [f"{event.title}: {lines[0]}", *lines[1:]]
    if event.kind is Kind.RESULT and lines:
        return [f"{event.title.partition(': ')[0]}: {lines[0]}", *lines[1:]]
    return lines or [event.title]
