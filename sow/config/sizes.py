"""Amounts of disk space as people write them: `500KB`, `20MB`, `1GB`, `1.5TB`.

Owns that notation in both directions; a unit is 1,000 times the one before it.
"""

import re

UNIT_BYTES = {"TB": 10**12, "GB": 10**9, "MB": 10**6, "KB": 10**3, "B": 1}

_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,3})?)(B|KB|MB|GB|TB)")


def parse_size(text: str) -> int:
    """Return the bytes that `text` stands for.

    Raises ValueError, with a sentence for the user, for anything else.
    """
    match = _SIZE.fullmatch(text)
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
