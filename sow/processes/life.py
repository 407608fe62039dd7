"""What can be said of a process that was seen once."""

from enum import StrEnum


class Life(StrEnum):
    """What can be said of a process that was seen once."""

    ALIVE = "alive"
    DEAD = "dead"
    UNVERIFIABLE = "unverifiable"
    """It belongs to another pid namespace: never called dead, never signalled."""
