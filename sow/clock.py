"""Times: in files and JSON UTC, whole seconds, ISO 8601 with `Z`; to people local and relative.

Owns these forms: `format_time` for files and programs, `local_time` for logs, which
are read later, and `Times` for what a person reads now. Functions that need the
time take it as an argument; `utc_now` is called at the edges only.
"""

import time

from sow.plain_record import PlainRecord

MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR
JUST_NOW_SECONDS = 5
"""Less is no length of time to a person; clocks of one machine differ by less."""


def utc_now() -> float:
    """Return the wall clock, in seconds since the epoch."""
    return time.time()


def format_time(seconds: float) -> str:
    """Return `seconds` since the epoch as `2026-01-31T12:00:00Z`."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def parse_time(text: str) -> float:
    """Return the seconds since the epoch of what `format_time` gave. Raises ValueError."""
    from datetime import datetime  # only few commands read a time back

    return datetime.fromisoformat(text).timestamp()


def local_time(seconds: float) -> str:
    """Return `seconds` since the epoch in the local zone, for people: `2026-01-31 13:00:00`."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def clock_time(seconds: float, now: float) -> str:
    """Return the local time, with its date only where that is not today's: `13:00:00`."""
    date, _, clock = local_time(seconds).partition(" ")
    return clock if date == local_time(now).partition(" ")[0] else f"{date} {clock}"


def ago(seconds: float, now: float) -> str:
    """Return how long ago something was, in its largest unit: `3 min ago`, or `in 3 min`."""
    length = abs(now - seconds)
    if length < JUST_NOW_SECONDS:
        return "just now"
    if length < MINUTE:
        words = f"{int(length)} s"
    elif length < HOUR:
        words = f"{int(length / MINUTE)} min"
    elif length < 2 * DAY:
        words = f"{int(length / HOUR)} h"
    else:
        words = f"{int(length / DAY)} days"
    return f"{words} ago" if seconds < now else f"in {words}"


class Times(PlainRecord):
    """How times are told at a moment: to people, or, `in_utc`, in sentences for programs."""

    now: float
    in_utc: bool = False

    def at(self, seconds: float) -> str:
        """Return a time: `13:00:00`, and its date where it is not today's."""
        return format_time(seconds) if self.in_utc else clock_time(seconds, self.now)

    def when(self, seconds: float) -> str:
        """Return a time and how long ago that was: `13:00:00 (3 min ago)`."""
        return f"{self.at(seconds)} ({ago(seconds, self.now)})"

    def of_record(self, text: str) -> str:
        """Return what `when` tells of a time in a record; as it stands where it is none."""
        try:
            return self.when(parse_time(text))
        except (ValueError, OverflowError, OSError):  # edited by hand, or beyond all calendars
            return text


def format_duration(seconds: float) -> str:
    """Return a length of time for people: `0.4s`, `12s`, `3m05s`, `2h07m`."""
    if seconds < 10:
        return f"{max(seconds, 0):.1f}s"
    if seconds < 60:
        return f"{seconds:.0f}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m{rest:02d}s"
    return f"{minutes // 60}h{minutes % 60:02d}m"
