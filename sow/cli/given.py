"""A text that the caller gives in a file or on standard input.

Owns the bound on its size, and what is said where it cannot be read. A pipe is
welcome here, and waited for: the caller has named it.
"""

import sys
from pathlib import Path

from sow.errors import UsageError

GIVEN_LIMIT = 16 << 20
"""In bytes; far more than any agent's CLI takes."""


def read_given(file: Path | None, option: str) -> bytes:
    """Return all of `file`; of standard input where it is none, or `-`. Raises UsageError."""
    file = None if str(file) == "-" else file
    name = str(file) if file is not None else "standard input"
    try:
        data = _read(file)
    except (OSError, ValueError) as error:  # ValueError: a stream that is closed
        words = (getattr(error, "strerror", None) or str(error)).lower()
        raise UsageError(
            f"{name} cannot be read: {words}",
            hint=f"{option} takes a file, or - for standard input.",
        ) from error
    if len(data) > GIVEN_LIMIT:
        raise UsageError(
            f"{name} holds more than {GIVEN_LIMIT >> 20} MiB",
            hint="Put it into a file of the repository, and name that file instead.",
        )
    return data


def _read(file: Path | None) -> bytes:
    if file is not None:
        with file.open("rb") as opened:
            return opened.read(GIVEN_LIMIT + 1)
    return sys.stdin.buffer.read(GIVEN_LIMIT + 1)
