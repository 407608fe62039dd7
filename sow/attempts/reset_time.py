"""When a usage limit ends, as the words of a CLI tell it, and which such times are believed.

Pure: the time at which the words were written comes in as an argument. A time of day
without a zone is the machine's own, as the CLIs that write it mean it (measured:
Codex 0.139 `try again at 11:35 PM.`; Claude Code `resets 5:20am (America/Denver)`).
"""

import re
from datetime import UTC, datetime, timedelta, tzinfo

from msgspec.structs import replace

from sow.clock import format_time
from sow.executors.base import Verdict

MOST_AHEAD_DAYS = 8
"""The longest limit whose end a CLI is known to tell lasts a week."""
PASSED_SECONDS = 600.0
"""A time of day that lies no further back is meant, not the same time tomorrow: CLIs leave out
the seconds, and a clock may be a little wrong."""
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

AFTER = re.compile(
    r"\b(?:resets?|again|retry|available) in (?:about |~ ?)?"
    r"((?:\d{1,6} ?(?:d|h|m|s|days?|h(?:ou)?rs?|min(?:ute)?s?|sec(?:ond)?s?)\b[ ,]*(?:and )?)+)",
    re.IGNORECASE,
)
PART = re.compile(r"(\d{1,6}) ?([dhms])", re.IGNORECASE)
ISO = re.compile(
    r"\b(?:resets?|again|available)(?: (?:at|on))?:? "
    r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)",
    re.IGNORECASE,
)
CLOCK = re.compile(
    r"\b(?:resets?|again|available)(?: (?:at|on))? "
    r"(?:(?P<tomorrow>tomorrow)(?:,| at)? "
    r"|(?P<month>[a-z]{3})[a-z]*\.? (?P<day>\d{1,2})(?:st|nd|rd|th)?"
    r"(?:,? (?P<year>\d{4}))?(?:,| at)* )?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?(?::\d\d)?(?: ?(?P<half>[ap])\.?m\b\.?)?"
    r"(?: ?\((?P<zone>[^()]{1,40})\)| (?P<plain_zone>UTC|GMT)\b)?",
    re.IGNORECASE,
)


def with_reset_time(verdict: Verdict, by_events: float | None, *, now: float) -> Verdict:
    """Return the verdict on a usage limit with the time at which it ends, if one is believed.

    `by_events` is what the CLI's events have said; its words are read where they have not. `now` is
    when the attempt ended. A time too far ahead is named in the reason, and waited for as
    an unknown one.
    """
    at = verdict.resets_at or by_events or reset_time_in(verdict.reason, now=now)
    if at is None or at - now <= MOST_AHEAD_DAYS * 86400:
        return replace(verdict, resets_at=at)
    when = f"{format_time(at)} is more than {MOST_AHEAD_DAYS} days ahead"
    doubt = f"its reset time {when}, so sow does not rely on it"
    return replace(verdict, resets_at=None, reason=f"{verdict.reason} ({doubt})")


def reset_time_in(words: str, *, now: float) -> float | None:
    """Return the time that the words give, in seconds since the epoch; None where they give none.

    `now` is when they were written. A zone that this machine does not know gives no time.
    """
    if found := AFTER.search(words):
        return now + sum(int(n) * UNITS[unit.lower()] for n, unit in PART.findall(found[1]))
    try:
        if found := ISO.search(words):
            return datetime.fromisoformat(found[1]).timestamp()
        found = CLOCK.search(words)
        return None if found is None else _clock_time(found, now)
    except (ValueError, OverflowError, OSError):  # no such day, hour or zone
        return None


def _clock_time(found: re.Match[str], now: float) -> float | None:
    """Return the next such time of day, or that of the day which is named. Raises ValueError."""
    hour, minute = int(found["hour"]), int(found["minute"] or 0)
    if found["half"] is not None:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if found["half"].lower() == "p" else 0)
    elif found["minute"] is None:
        return None  # a mere number
    here = datetime.fromtimestamp(now, _zone(found["zone"] or found["plain_zone"]))
    there = here.replace(hour=hour, minute=minute, second=0, microsecond=0)
    if found["month"] is not None:
        return _on_day(there, found).timestamp()
    if found["tomorrow"] is not None or there.timestamp() < now - PASSED_SECONDS:
        there = _local(there.replace(tzinfo=None) + timedelta(days=1), there.tzinfo)
    return there.timestamp()


def _on_day(there: datetime, found: re.Match[str]) -> datetime:
    """Return a time on the day that is named; without a year the nearest one is meant."""
    day, month = int(found["day"]), MONTHS.index(found["month"].lower()) + 1
    naive = there.replace(tzinfo=None)
    if found["year"] is not None:
        return _local(naive.replace(year=int(found["year"]), month=month, day=day), there.tzinfo)
    first = naive.replace(day=1, month=month)
    years = (first.replace(year=naive.year + more) for more in (-1, 0, 1))
    days = [each + timedelta(days=min(day, 31) - 1) for each in years]
    return _local(min(days, key=lambda each: abs(each - naive)), there.tzinfo)


def _local(naive: datetime, zone: tzinfo | None) -> datetime:
    return naive.astimezone() if zone is None else naive.replace(tzinfo=zone)


def _zone(name: str | None) -> tzinfo | None:
    """Return the zone of that name; None is the machine's own. Raises ValueError, OSError."""
    if name is None:
        return None
    if name.upper() in ("UTC", "GMT", "Z"):
        return UTC
    # Few attempts end so, and the module reads the machine's tables.
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except KeyError as error:
        raise ValueError(name) from error
