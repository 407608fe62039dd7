"""What an agent has said and done, event by event, for people to read.

Owns the kinds and the words of it, and how an attempt's output is read on, from its
end or from any place in it. What a line means is its executor's. Whatever an agent
prints, nothing here raises for it; every text is harmless to a terminal, and of
bounded length; and an output of any size costs what is new in it, or what its end holds.
"""

import os
from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from pathlib import Path

from msgspec import Struct

from sow.clock import clock_time, utc_now
from sow.executors import base
from sow.executors.base import EventKind
from sow.executors.lines import WholeLines, read_every
from sow.executors.plain import read_text_line
from sow.executors.registry import make_executor
from sow.files import open_regular, unreadable
from sow.reports.last_activity import retry_words
from sow.schema.executor import ExecutorConfig
from sow.terminal_text import printable_lines, without_sequences

PIECE_BYTES = 1 << 18
"""How much is read, and held, at once."""
TAILS_BYTES = (1 << 16, 1 << 20, 1 << 24)
"""How much of an end is read: the first of them that holds enough."""
LONGEST_TITLE = 400


class Kind(StrEnum):
    """What an event is, for whoever shows it."""

    TEXT = "text"
    """The agent's own words: `body`, in markdown."""
    TOOL = "tool"
    """A call of a tool; `title` names it and its target."""
    TOOL_RESULT = "tool_result"
    """What a tool has answered, in `body`."""
    ERROR = "error"
    """A denied tool, or a limit that is reached."""
    RETRY = "retry"
    """A request that has failed and is made again."""
    RESULT = "result"
    """The last word of a run."""
    NOTE = "note"
    """What the CLI says of itself: a session began, tasks run in the background."""


class Event(Struct, frozen=True):
    """One thing that an agent said or did."""

    kind: Kind
    title: str
    """On one line; of words, their first line."""
    body: str = ""
    """All there is to read, in lines; empty where the title says it all."""
    at: float | None = None
    """When, in seconds since the epoch, where the output tells it."""
    failed: bool = False


def shown_event(event: base.Event, last_words: str = "") -> Event | None:
    """Return for people what an executor has read; None where it has nothing for them.

    `last_words`: what the agent has said last, which many a result only repeats.
    """
    words, failed = event.text, event.is_error
    match event.kind:
        case EventKind.SESSION:
            model = f" ({event.model})" if event.model else ""
            return _event(event, Kind.NOTE, f"session began{model}", "")
        case EventKind.TEXT if words:
            return _event(event, Kind.TEXT, words, words)
        case EventKind.TOOL_USE:
            return _event(event, Kind.TOOL, words or event.tool or "tool", words)
        case EventKind.TOOL_RESULT if words or failed:
            return _event(event, Kind.TOOL_RESULT, words or "failed", words, failed=failed)
        case EventKind.API_RETRY:
            return _event(event, Kind.RETRY, retry_words(event), words, failed=True)
        case EventKind.RATE_LIMIT if failed:
            until = f" until {clock_time(event.resets_at, utc_now())}" if event.resets_at else ""
            return _event(event, Kind.ERROR, f"usage limit reached{until}", "", failed=True)
        case EventKind.RATE_LIMIT if words != "allowed":
            return _event(event, Kind.NOTE, f"usage limit: {words or 'told of'}", "")
        case EventKind.DENIAL:
            return _event(event, Kind.ERROR, f"denied: {event.tool or words}", "", failed=True)
        case EventKind.BACKGROUND:
            return _event(event, Kind.NOTE, words or "nothing runs in the background", "")
        case EventKind.RESULT:
            news = "" if words == last_words else words
            ending = "failed" if failed else "ended"
            title = f"{ending}: {news}" if news else ending
            return _event(event, Kind.RESULT, title, news, failed=failed)
        case _:
            return None


def _event(event: base.Event, kind: Kind, title: str, body: str, *, failed: bool = False) -> Event:
    """Return an event whose texts are harmless; its body where that says more than the title."""
    first, *more = printable_lines(without_sequences(title)) or [""]
    shown = first if len(first) <= LONGEST_TITLE else f"{first[: LONGEST_TITLE - 1]}…"
    lines = [first, *more] if title == body else printable_lines(without_sequences(body))
    says_more = kind is Kind.TEXT or len(lines) > 1 or (lines and lines[0] not in shown)
    return Event(kind, shown, "\n".join(lines) if says_more else "", event.at, failed)


def _is_before(event: base.Event, moment: float) -> bool:
    return event.at is not None and event.at < moment


class OutputReader:
    """One attempt's output, read on from where it was left. It holds no open file.

    Without an executor, as of a job's step, each line is words. A line is read once it
    has ended: what an agent has begun to print is told later.
    """

    def __init__(self, path: Path, config: ExecutorConfig | None, position: int = 0) -> None:
        """`position`: where in the file to begin, in bytes; the beginning of a line."""
        self.path = path
        self.position = position
        self.passed_over = 0
        """How many bytes were left out before what was read last."""
        self._executor = make_executor(config) if config is not None else None
        self._lines = WholeLines()
        self._last_words = ""

    def read_end(self, most: int) -> list[Event]:
        """Return the last events, at most so many; `read` goes on from there."""
        events: list[Event] = []
        size = self._size()
        for length in TAILS_BYTES:
            start = max(0, size - length)
            self._go_to(start)
            events = list(self.read(latest=size - start))
            if len(events) >= most or not start:
                break
        return events[-most:] if most else []

    def read(self, *, latest: int | None = None, since: float | None = None) -> Iterator[Event]:
        """Yield the events of what has come since it was last read.

        `latest`: of more than so many bytes only the last are read, and `passed_over`
        tells how many were not. `since`: as in `found`. Raises StateError where the
        file cannot be read.
        """
        behind = self._size() - self.position
        self.passed_over = 0
        if latest is not None and behind > latest:
            self.passed_over = behind - latest
            self._go_to(self.position + self.passed_over)
        yield from self._shown(self.found(since))

    def read_rest(self) -> Iterator[Event]:
        """Yield what a line tells that nobody has ended: there is no more to come."""
        yield from self._shown(self.found_in_rest())

    def found_in_rest(self) -> Iterator[base.Event]:
        """Yield what such a line tells, as the executor reads it."""
        return self._understood(self._lines.take_rest())

    def found(self, since: float | None = None) -> Iterator[base.Event]:
        """Yield what has come as the executor reads it. Raises StateError.

        `since`: nothing that comes before a time that the output itself tells, in
        seconds since the epoch. Where it tells none, all of it, if any of it is no older.
        """
        older = self._go_to_time(since) if since is not None else 0
        yield from islice(self._all(), older, None)

    def _go_to_time(self, moment: float) -> int:
        """Go to a line not far before a moment; return how many events come before the moment."""
        size, begun = self._size(), self.position
        if self._written_at() < moment:
            self._go_to(size)
            return 0
        for length in (*TAILS_BYTES, size):
            start = max(begun, size - length)
            self._go_to(start)
            older = max(
                (
                    number
                    for number, event in enumerate(self._all(), 1)
                    if _is_before(event, moment)
                ),
                default=0,
            )
            if older or start == begun:
                break
        self._go_to(start)
        return older

    def _all(self) -> Iterator[base.Event]:
        for piece in self._pieces():
            yield from self._understood(self._lines.feed(piece))

    def _go_to(self, position: int) -> None:
        """Go on from the first line that begins after a place in the file."""
        self.position = position
        self._lines = WholeLines()
        if position:
            self.position -= 1
            self._lines.skip_line()

    def _shown(self, found: Iterator[base.Event]) -> Iterator[Event]:
        for event in found:
            shown = shown_event(event, self._last_words)
            if event.kind is EventKind.TEXT:
                self._last_words = event.text
            if shown is not None:
                yield shown

    def _understood(self, data: bytes) -> Iterator[base.Event]:
        return (
            self._executor.read(data)
            if self._executor is not None
            else read_every(data, read_text_line)
        )

    def _pieces(self) -> Iterator[bytes]:
        descriptor = self._opened()
        if descriptor is None:
            return
        try:
            while piece := os.pread(descriptor, PIECE_BYTES, self.position):
                self.position += len(piece)
                yield piece
        except OSError as error:
            raise unreadable(self.path, error) from error
        finally:
            os.close(descriptor)

    def _size(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def _written_at(self) -> float:
        try:
            return self.path.stat().st_mtime
        except OSError:
            return 0.0

    def _opened(self) -> int | None:
        """Return the open file; None where there is none yet."""
        try:
            return open_regular(self.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise unreadable(self.path, error) from error
