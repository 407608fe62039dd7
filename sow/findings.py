"""What a check has found: whether it is well, and what to do where it is not.

Owns the levels. Knows nothing of what is checked or of how it is shown.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

import msgspec


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    NOTE = "note"
    """Nothing is wrong; it is said so that nobody has to guess."""
    WARNING = "warning"
    """It works, or nobody can tell; something is likely to be in the way."""
    ERROR = "error"
    """It does not work as it stands."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was checked."""

    check: str
    """The name of the check, for programs."""
    level: Level
    text: str
    """What was found, in one line."""
    remedy: str = ""
    """What to do, in one line or several."""
    facts: Mapping[str, Any] = {}
    """The same for programs; never a secret."""


def count(findings: Iterable[Finding], level: Level) -> int:
    """Return how many findings are of this level."""
    return sum(finding.level is level for finding in findings)
