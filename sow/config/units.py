"""Lengths of time and amounts of disk space, as people write them: `15m`, `2h`, `20MB`."""

from sow.usual_patterns import UNITS_OF_TIME, number_and_unit

UNIT_BYTES = {"TB": 10**12, "GB": 10**9, "MB": 10**6, "KB": 10**3, "B": 1}
BINARY_BYTES = {"TiB": 1 << 40, "GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10}
ALL_BYTES = BINARY_BYTES | UNIT_BYTES


def parse_size(text: str) -> int:
    """Return the bytes that `text` stands for.

    Raises ValueError, with a sentence for the user, for anything else.
    """
    parts = number_and_unit(text, list(ALL_BYTES), 15)
    if parts is None:
        raise ValueError(f"not a size: {text!r} (a number and a unit, such as 500MB, 2GB or 4GiB)")
    return round(float(parts[0]) * ALL_BYTES[parts[1]])


def write_size(size: int) -> str:
    """Return `size`, in bytes, in the unit that gives the smallest whole number: 2000 is `2KB`."""
    fitting = [unit for unit, count in ALL_BYTES.items() if size and size % count == 0]
    unit = max(fitting, key=lambda unit: ALL_BYTES[unit], default="B")
    return f"{size // ALL_BYTES[unit]}{unit}"


def round_size(size: int) -> str:
    """Return `size`, in bytes, with one decimal in the unit that suits people: `34.5 MB`."""
    for unit, count in UNIT_BYTES.items():
        if size >= count > 1:
            return f"{size / count:.1f} {unit}"
    return f"{size} B"


UNIT_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def parse_duration(text: str) -> float:
    """Return the seconds that `text` stands for.

    Raises ValueError, with a sentence for the user, for anything else.
    """
    parts = number_and_unit(text, UNITS_OF_TIME, 9)
    if parts is None:
        raise ValueError(
            f"not a duration: {text!r} (a number and a unit, such as 500ms, 30s, 15m or 2h)"
        )
    return float(parts[0]) * UNIT_SECONDS[parts[1]]


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
