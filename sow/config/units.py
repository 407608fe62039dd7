"""Lengths of time and amounts of disk space, as people write them: `15m`, `2h`, `20MB`."""

import re

UNIT_BYTES = {"TB": 10**12, "GB": 10**9, "MB": 10**6, "KB": 10**3, "B": 1}

_SIZE = r"([0-9]{1,15}(?:\.[0-9]{1,3})?)(B|KB|MB|GB|TB)"


def parse_size(text: str) -> int:
    """Return the bytes that `text` stands for.

    Raises ValueError, with a sentence for the user, for anything else.
    """
    match = re.fullmatch(_SIZE, text)
    if match is None:
        raise ValueError(f"not a size: {text!r} (a number and a unit, such as 500MB or 2GB)")
    return round(float(match[1]) * UNIT_BYTES[match[2]])


def write_size(size: int) -> str:
    """Return `size`, in bytes, in the largest unit that gives a whole number: 2000 is `2KB`."""
    unit = next(
        unit for unit, count in UNIT_BYTES.items() if (size and size % count == 0) or count == 1
    )
    return f"{size // UNIT_BYTES[unit]}{unit}"


def round_size(size: int) -> str:
    """Return `size`, in bytes, with one decimal in the unit that suits people: `34.5 MB`."""
    for unit, count in UNIT_BYTES.items():
        if size >= count > 1:
            return f"{size / count:.1f} {unit}"
    return f"{size} B"


UNIT_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}

_DURATION = r"([0-9]{1,9}(?:\.[0-9]{1,3})?)(ms|s|m|h|d)"


def parse_duration(text: str) -> float:
    """Return the seconds that `text` stands for.

    Raises ValueError, with a sentence for the user, for anything else.
    """
    match = re.fullmatch(_DURATION, text)
    if match is None:
        raise ValueError(
            f"not a duration: {text!r} (a number and a unit, such as 500ms, 30s, 15m or 2h)"
        )
    return float(match[1]) * UNIT_SECONDS[match[2]]


NEVER = "never"
"""In place of a duration: no time is long enough. It is 0 as seconds."""


def parse_duration_or_never(text: str) -> float:
    """Return the seconds that `text` stands for; 0 for never. Raises ValueError."""
    return 0.0 if text == NEVER else parse_duration(text)


def write_duration_or_never(seconds: float) -> str:
    """Return `seconds` as `write_duration` does; 0 is never."""
    return write_duration(seconds) if seconds else NEVER


def write_duration(seconds: float) -> str:
    """Return `seconds` in the largest unit that gives a whole number: 7200.0 is `2h`."""
    for unit, size in UNIT_SECONDS.items():
        count = seconds / size
        if count >= 1 and count == round(count):
            return f"{round(count)}{unit}"
    return f"{round(seconds * 1000)}ms"
