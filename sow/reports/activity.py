"""What a running agent does now, or what keeps it: read from the end of what it has printed.

Owns the looking and the words. Nothing is stored for it: whoever asks reads the
last lines that lie on disk anyway. So it is never out of date, costs the worker
nothing, and is known of an agent that no worker watches at the moment.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from sow.clock import format_duration
from sow.errors import StateError
from sow.executors.base import Event, EventKind, Executor
from sow.executors.registry import make_executor
from sow.files import open_regular
from sow.paths import Workspace
from sow.schema.job import Job, JobState
from sow.schema.kinds import kind_of
from sow.terminal_text import printable

TAILS_BYTES = (1 << 16, 1 << 20)
"""How much of the end is read: nearly always the first of them holds what was done last. Beyond
the second, behind an answer of a mebibyte, nobody looks."""
LONGEST_WORDS = 200


@dataclass(frozen=True)
class Activity:
    """What an agent was last seen to do."""

    words: str
    """Its last tool call, or what keeps it, on one line; empty where its output tells neither."""
    quiet_seconds: float
    """How long ago it last printed anything."""
    is_hindered: bool = False
    """Whether the words tell what keeps it: a request that fails, a limit that is reached."""

    def __str__(self) -> str:
        quiet = f"quiet {format_duration(self.quiet_seconds)}"
        return f"{self.words}; {quiet}" if self.words else quiet


def activity_of(workspace: Workspace, job: Job, now: float) -> Activity | None:
    """Return what a job's agent does; None where it does not run or has printed nothing yet.

    `now` is in seconds since the epoch. Never raises for what an agent has printed.
    """
    if job.state is not JobState.RUNNING or kind_of(job).in_persons_hands:
        return None
    number = _newest_attempt(workspace.job(job.id))
    if number is None:
        return None
    try:
        descriptor = open_regular(workspace.attempt(job.id, number).output)
    except (OSError, StateError):
        return None
    try:
        quiet = max(0.0, now - os.fstat(descriptor).st_mtime)
        if job.executor is None:
            logs = workspace.attempt(job.id, number).folder.glob("check-*.log")
            written = max((log.stat().st_mtime for log in logs), default=now - quiet)
            return Activity(_last_line(descriptor), min(quiet, max(0.0, now - written)))
        words, is_hindered = _last_deed(descriptor, make_executor(job.executor))
        return Activity(words, quiet, is_hindered)
    finally:
        os.close(descriptor)


def _newest_attempt(folder: Path) -> int | None:
    try:
        names = [path.name for path in folder.iterdir()]
    except OSError:
        return None
    return max((int(name) for name in names if name.isascii() and name.isdigit()), default=None)


def _last_line(descriptor: int) -> str:
    """Return the last line that a program of ours has printed: what it does now."""
    size = os.fstat(descriptor).st_size
    data = os.pread(descriptor, TAILS_BYTES[0], max(0, size - TAILS_BYTES[0]))
    lines = data.decode("utf-8", "replace").strip().splitlines()
    return _shortened(printable(lines[-1])) if lines else ""


def _last_deed(descriptor: int, executor: Executor) -> tuple[str, bool]:
    size = os.fstat(descriptor).st_size
    words, is_hindered = "", False
    for length in TAILS_BYTES:
        start = max(0, size - length)
        data = os.pread(descriptor, length, start)
        whole = data if not start else data[data.find(b"\n") + 1 :]
        words, is_hindered = _of_events(executor, whole)
        if words or not start:
            break
    return words, is_hindered


def _of_events(executor: Executor, data: bytes) -> tuple[str, bool]:
    """Return what these lines come to: the last call, or what keeps it, and whether that does."""
    deed = speech = background = hindrance = ""
    ended = False
    for event in executor.skim(data):
        match event.kind:
            case EventKind.API_RETRY:
                hindrance = retry_words(event)
            case EventKind.RATE_LIMIT:
                hindrance = "a usage limit was reached" if event.is_error else ""
            case EventKind.TOOL_USE:
                deed, hindrance, ended = event.text or event.tool or "", "", False
            case EventKind.TEXT:
                speech, hindrance, ended = f"says: {event.text}", "", False
            case EventKind.BACKGROUND:
                background = event.text
            case EventKind.RESULT:
                hindrance, ended = "", True
    if ended:
        deed = f"waits for what runs {background}" if background else "has said its last word"
    shown = printable(hindrance or deed or speech)
    return _shortened(shown), bool(hindrance)


def retry_words(event: Event) -> str:
    """Return a failed request that is tried again, in words."""
    words = f"request failed ({event.status or 'no answer'}), tried again"
    return f"{words}, {_ordinal(event.count)} time" if event.count > 1 else words


def _ordinal(number: int) -> str:
    teens = number % 100 in (11, 12, 13)
    ending = "th" if teens else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_WORDS else f"{text[: LONGEST_WORDS - 1]}…"
