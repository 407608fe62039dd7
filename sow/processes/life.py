"""Whether a process that was seen once still runs, and when a look at it could not be made."""

import errno
from enum import StrEnum

PORTABLE = "psutil:"
"""What the pid namespace of an identity begins with that the portable back end made."""
SHORT_OF = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})
"""What opening and reading a file fails with where this process or the machine lacks room."""


class Life(StrEnum):
    """What can be said of a process that was seen once."""

    ALIVE = "alive"
    DEAD = "dead"
    UNVERIFIABLE = "unverifiable"
    """It was seen in another pid namespace, or on another machine: never called dead, never
    signalled."""


def is_shortage(error: OSError) -> bool:
    """Whether an error tells of us or of the machine, and nothing of the process looked at."""
    return error.errno in SHORT_OF
