"""A look at a process that could not be made, told from a process that is gone.

Whoever takes the one for the other calls the living dead. A leaf: the
supervisor, which must start fast, runs on it.
"""

import errno

SHORT_OF = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})
"""What opening and reading a file fails with where this process or the machine lacks room."""


def is_shortage(error: OSError) -> bool:
    """Whether an error tells of us or of the machine, and nothing of the process looked at."""
    return error.errno in SHORT_OF
