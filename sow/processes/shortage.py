"""When a look at a process could not be made for want of room. Light: the supervisor runs on it."""

import errno

SHORT_OF = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})
"""What opening and reading a file fails with where this process or the machine lacks room."""


def is_shortage(error: OSError) -> bool:
    """Whether an error tells of us or of the machine, and nothing of the process looked at."""
    return error.errno in SHORT_OF
