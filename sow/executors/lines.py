"""Output as it comes, in pieces: whole lines out of them, and the events of many lines at once.

Owns the bounds that keep any output cheap: the longest line that is kept, and
the search, made in C, for the lines that can tell anything at all. An agent
may print a hundred million lines that tell nothing; a step in Python for each
would take minutes. Opens no file.
"""

import re
from collections.abc import Callable, Iterator

from sow.executors.base import Event

LONGEST_LINE_BYTES = 16 << 20
"""A longer line is noise: it is skipped, so that no agent can fill our memory."""

TYPE_KEY = b'"type"'

ANY_TEXT = re.compile(rb"\S")
TEXT_BUT_OBJECTS = re.compile(rb"^[ \t\r\f\v]*+[^\s{]", re.MULTILINE)
"""A line of text that does not begin as an object does."""

ReadLine = Callable[[bytes], tuple[Event, ...]]


class WholeLines:
    """Makes whole lines of pieces that end anywhere; keeps what is no line yet, up to a bound."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._kept = 0
        self._skipping = False

    def feed(self, piece: bytes) -> bytes:
        """Return the lines that are whole by now, each with its end."""
        end = piece.rfind(b"\n") + 1
        if not end:
            self._keep(piece)
            return b""
        begin = piece.index(b"\n") + 1 if self._skipping else 0
        whole = b"".join([*self._parts, piece[begin:end]])
        self._forget()
        self._keep(piece[end:])
        return whole

    def take_rest(self) -> bytes:
        """Return the line that nobody has ended, and keep nothing."""
        rest = b"".join(self._parts)
        self._forget()
        return rest

    def skip_line(self) -> None:
        """Forget the line under way, up to its end."""
        self._forget()
        self._skipping = True

    def _keep(self, piece: bytes) -> None:
        if self._skipping or not piece:
            return
        self._parts.append(piece)
        self._kept += len(piece)
        if self._kept > LONGEST_LINE_BYTES:
            self.skip_line()

    def _forget(self) -> None:
        self._parts, self._kept, self._skipping = [], 0, False


def lines_of_types(*types: str) -> re.Pattern[bytes]:
    """Return what finds the lines that may hold an object with one of these in its `type`.

    A writer of JSON escapes no letter, so the words stand in the line as they are.
    """
    words = "|".join(map(re.escape, types))
    return re.compile(rf'"type"[ \t\r]*:[ \t\r]*"(?:{words})"'.encode())


def read_matching(data: bytes, wanted: re.Pattern[bytes], read_line: ReadLine) -> Iterator[Event]:
    """Yield the events of the lines in which `wanted` is found; all other lines tell nothing."""
    for begin, end in _places(data, wanted):
        yield from read_line(data[begin:end])


def read_every(data: bytes, read_line: ReadLine) -> Iterator[Event]:
    """Yield the events of each line."""
    for line in data.split(b"\n"):
        if line and not line.isspace():
            yield from read_line(line)


def skim_text(
    data: bytes,
    wanted: re.Pattern[bytes],
    read_line: ReadLine,
    text: re.Pattern[bytes] = ANY_TEXT,
) -> Iterator[Event]:
    """Yield the events that say of `data` what all of them would, where other lines are text.

    Of several texts in a row only the last one counts. Where `text` is not
    found, no line but the wanted ones tells anything.
    """
    position = 0
    for begin, end in _places(data, wanted):
        yield from _last_event(data, position, begin, read_line, text)
        yield from read_line(data[begin:end])
        position = end
    yield from _last_event(data, position, len(data), read_line, text)


def _places(data: bytes, wanted: re.Pattern[bytes]) -> Iterator[tuple[int, int]]:
    """Yield where each line with a match begins and ends."""
    if TYPE_KEY not in data:  # far quicker than the pattern, and true of most noise
        return
    position = 0
    while found := wanted.search(data, position):
        begin = data.rfind(b"\n", position, found.start()) + 1 or position
        end = data.find(b"\n", found.end())
        end = len(data) if end < 0 else end
        yield begin, end
        position = end


def _last_event(
    data: bytes, begin: int, end: int, read_line: ReadLine, text: re.Pattern[bytes]
) -> tuple[Event, ...]:
    """Return what the last line in a stretch tells that tells anything."""
    if not text.search(data, begin, end):
        return ()
    end = begin + len(data[begin:end].rstrip())
    while begin < end:
        start = data.rfind(b"\n", begin, end) + 1 or begin
        events = read_line(data[start:end])
        if events:
            return events
        end = start - 1
    return ()
