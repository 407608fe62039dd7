"""How jobs at work are told to somebody who waits: a row each, or each on one line. Pure.

Owns the columns, and what a narrow terminal goes without. No word is cut: what does not
fit is left out at its end, and an ellipsis says so.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sow.clock import format_duration
from sow.reports.live_job_words import words_of
from sow.reports.prospects import Surroundings
from sow.schema.job import Job, JobState
from sow.terminal_text import cells, printable

GAP = "  "
ROOM_FOR_ACTIVITY = 24
"""So many columns are left to what an agent does, if need be without its role and its time."""
QUIET_SECONDS = 60
"""An agent that has printed nothing for longer is told with how long that is."""
LINE_WIDTH = 76
WORD = r"[\u1100-\U0010ffff]\s*|[^\s\u1100-\U0010ffff]+\s*|\s+"
"""A word and the space behind it; from U+1100 on letters may be wide."""

Paint = Callable[[str, str], str]
"""Returns a text in the colour of a state, given the state's word."""


class Row(NamedTuple):
    """A job as it stands."""

    task: str
    who: str
    took: str
    """How long it has run; empty where it does not run."""
    state: str
    does: str
    """What its agent does now, or what it waits for; may be empty."""
    colour: str = ""
    """The state as whose word the last column is coloured."""


def summary_row(job: Job) -> Row:
    """Return a job as its own record tells it, for one that is only counted."""
    return Row(job.task_id or "project", job.agent or job.verb.value, "", job.state.value, "")


def row_of(job: Job, around: Surroundings, now: float) -> Row:
    """Return how a job stands, as its surroundings tell it."""
    who, task = job.agent or job.verb.value, job.task_id or "project"
    activity = around.activity
    if job.state is not JobState.RUNNING or job.started_at is None or activity is None:
        words = words_of(job, around, now)
        colour = "" if job.state in (JobState.RUNNING, JobState.QUEUED) else "warning"
        return Row(task, who, "", job.state.value, printable(words), colour)
    took = format_duration(now - job.started_at)
    quiet = activity.quiet_seconds
    does = activity.words or f"quiet for {format_duration(quiet)}"
    if activity.words and quiet >= QUIET_SECONDS and not activity.is_hindered:
        does = f"{does} (quiet for {format_duration(quiet)})"
    if activity.stalled:
        does = str(activity)
    is_amiss = activity.is_hindered or activity.stalled
    return Row(task, who, took, job.state.value, does, "error" if is_amiss else "")


def in_one_line(row: Row) -> str:
    """Return a row as a line of its own: `010 implementer runs 2m05s: Bash: npm test`."""
    stands = f"{row.who} runs {row.took}" if row.took else row.state
    whole = f"{row.task} {stands}"
    return fitted(f"{whole}: {row.does}" if row.does else whole, LINE_WIDTH)


def block_of(
    rows: Sequence[Row], width: int, most: int, paint: Paint = lambda _, text: text
) -> list[str]:
    """Return rows as aligned lines of at most `width` columns; beyond `most` lines, how many more.

    Those that run come first: what they do changes.
    """
    ordered = sorted(rows, key=lambda row: row.state != JobState.RUNNING)
    shown = ordered if len(ordered) <= most else ordered[: max(most - 1, 0)]
    hidden = ordered[len(shown) :]
    lines = [
        _line(row, before, width, paint)
        for row, before in zip(shown, _columns(shown, width), strict=True)
    ]
    return [*lines, *([fitted(_more(hidden), width)] if hidden else [])]


def _columns(rows: Sequence[Row], width: int) -> list[str]:
    """Return the aligned columns before what each agent does, as many as leave room for that."""
    columns = [
        [row.task for row in rows],
        [row.took or row.state for row in rows],
        [row.who for row in rows],
    ]
    while True:
        widths = [max(map(cells, column), default=0) for column in columns]
        if len(columns) == 1 or sum(widths) + len(GAP) * len(widths) + ROOM_FOR_ACTIVITY <= width:
            break
        columns.pop()
    padded = [
        [f"{cell}{' ' * (room - cells(cell))}" for cell in column]
        for column, room in zip(columns, widths, strict=True)
    ]
    return [GAP.join(row) for row in zip(*padded, strict=True)]


def _line(row: Row, before: str, width: int, paint: Paint) -> str:
    room = width - cells(before) - len(GAP)
    does = fitted(row.does, room) if row.does and room > 0 else ""
    if not does:
        return fitted(before.rstrip(), width)
    return f"{before}{GAP}{paint(row.colour, does) if row.colour else does}"


def _more(hidden: Sequence[Row]) -> str:
    counts = Counter(row.state for row in hidden)
    if len(counts) == 1:
        return f"+{len(hidden)} more {hidden[0].state}"
    return (
        f"+{len(hidden)} more: {', '.join(f'{count} {state}' for state, count in counts.items())}"
    )


def fitted(text: str, width: int) -> str:
    """Return the words of a text that fit a width, and an ellipsis where some are left out.

    Of a path that has no room its end stays; wide letters are words of their own, for
    those who write them put no spaces between words.
    """
    if cells(text) <= width:
        return text
    if width < 1:
        return ""
    shown, room = "", width - 2
    for found in re.finditer(WORD, text):
        word = found[0] if shown else found[0].lstrip()
        if cells(shown) + cells(word.rstrip()) > room:
            return f"{shown.rstrip()} {_end_of_path(word.strip(), room - cells(shown))}".strip()
        shown += word
    return f"{shown.rstrip()} …"


def _end_of_path(word: str, room: int) -> str:
    """Return the folders at a path's end that fit, behind an ellipsis; that alone else."""
    for number, letter in enumerate(word):
        if letter == "/" and number and cells(word) - number <= room:
            return f"…{word[number:]}"
    return "…"
