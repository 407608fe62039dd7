"""What `--since` names where logs are read: a length of time before now, or a time."""

from sow.clock import format_time, parse_time
from sow.errors import UsageError


def moment_of(text: str, now: float) -> float:
    """Return the moment that an option names, in seconds since the epoch. Raises UsageError."""
    from sow.config.durations import parse_duration  # of the configuration, and used here alone

    try:
        return _within_calendars(now - parse_duration(text))
    except (ValueError, OverflowError, OSError):
        pass
    try:
        return _within_calendars(parse_time(text))
    except (ValueError, OverflowError, OSError):
        raise UsageError(
            f"--since: not a length of time, and not a time: {text!r}",
            hint="For example: --since 2h, or --since 2026-01-31T12:00:00Z",
        ) from None


def _within_calendars(moment: float) -> float:
    format_time(moment)  # raises for what no calendar holds
    return moment
