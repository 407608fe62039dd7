"""What an agent did last, as its executor reads the end of its output.

Owns its words. Opens no file, and never raises for what an agent has printed.
"""

import os
from typing import NamedTuple

from sow.executors.base import Event, EventKind, Executor
from sow.executors.registry import make_executor
from sow.schema.executor import ExecutorConfig
from sow.terminal_text import printable, without_sequences

TAILS_BYTES = (1 << 16, 1 << 20)
"""How much of the end is read: nearly always the first of them holds what was done last. Beyond
the second, behind an answer of a mebibyte, nobody looks."""
LONGEST_WORDS = 200


class LastActivity(NamedTuple):
    """What an agent's output ends with."""

    words: str = ""
    """On one line; empty where the end tells nothing."""
    is_hindered: bool = False
    """Whether that keeps it from going on."""
    failures: int = 0
    """How often the request that it waits for has failed; 0 where none has."""
    has_ended: bool = False
    """Whether it has printed its result."""


def last_activity(descriptor: int, config: ExecutorConfig) -> LastActivity:
    """Return what an agent's output ends with."""
    executor = make_executor(config)
    size = os.fstat(descriptor).st_size
    found = LastActivity()
    for length in TAILS_BYTES:
        start = max(0, size - length)
        data = os.pread(descriptor, length, start)
        whole = data if not start else data[data.find(b"\n") + 1 :]
        found = _of_events(executor, whole)
        if found.words or not start:
            break
    return found


def last_line(descriptor: int) -> str:
    """Return the last line that a program of ours has printed: what it does now."""
    size = os.fstat(descriptor).st_size
    data = os.pread(descriptor, TAILS_BYTES[0], max(0, size - TAILS_BYTES[0]))
    lines = data.decode("utf-8", "replace").strip().splitlines()
    return _shortened(printable(without_sequences(lines[-1]))) if lines else ""


def _of_events(executor: Executor, data: bytes) -> LastActivity:
    """Return what these lines come to: the last call, or what keeps it."""
    call = speech = background = hindrance = ""
    ended, failures = False, 0
    for event in executor.skim(data):
        match event.kind:
            case EventKind.API_RETRY:
                hindrance, failures = retry_words(event), event.count or failures + 1
            case EventKind.RATE_LIMIT:
                hindrance, failures = "a usage limit was reached" if event.is_error else "", 0
            case EventKind.TOOL_USE:
                call, hindrance, ended = event.text or event.tool or "", "", False
            case EventKind.TEXT:
                speech, hindrance, ended = f"says: {event.text}", "", False
            case EventKind.BACKGROUND:
                background = event.text
            case EventKind.RESULT:
                hindrance, ended = "", True
    if ended:
        call = f"waits for what runs {background}" if background else "has said its last word"
    shown = _shortened(printable(without_sequences(hindrance or call or speech)))
    return LastActivity(shown, bool(hindrance), failures if hindrance else 0, ended)


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
