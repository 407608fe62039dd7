"""Times: in files and JSON UTC, whole seconds, ISO 8601 with `Z`; to people local and relative.

Owns these forms. Functions that need the time take it as an argument;
`utc_now` is called at the edges only.
"""

import time


def utc_now() -> float:
    """Return the wall clock, in seconds since the epoch."""
    return time.time()


def format_time(seconds: float) -> str:
    """Return `seconds` since the epoch as `2026-01-31T12:00:00Z`."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def local_time(seconds: float) -> str:
    """Return `seconds` since the epoch in the local zone, for people: `2026-01-31 13:00:00`."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


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
