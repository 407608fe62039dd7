"""Whether a process that was seen once still runs."""

from enum import StrEnum

PORTABLE = "psutil:"
"""What the pid namespace of an identity begins with that the portable back end made."""


class Life(StrEnum):
    """What can be said of a process that was seen once."""

    ALIVE = "alive"
    DEAD = "dead"
    UNVERIFIABLE = "unverifiable"
    """It was seen in another pid namespace, or on another machine: never called dead, never
    signalled."""
