"""The folders below `.sow/run`: for their owner alone, whatever the umask, and whoever made them.

Owns their mode. What agents print and are told lies there. A folder that an
earlier sow, a copying tool or a person has left open is closed when it is next
used; one of another user is left as it is, for that user's files are in it.
"""

import errno
import os
import stat
from pathlib import Path

MODE = 0o700
OTHERS = 0o077


def make_private(folder: Path, *, below: Path) -> None:
    """Make a folder and those between it and `below`, each for its owner alone. Raises OSError."""
    for part in reversed((folder, *folder.parents)):
        if part.is_relative_to(below) and part != below:
            try:
                part.mkdir(mode=MODE)
            except FileExistsError:
                close_to_others(part)
            else:
                part.chmod(MODE)  # the umask may have taken from us what we need


def close_to_others(folder: Path) -> None:
    """Take from others what they may do in a folder of ours. Raises OSError where it is none."""
    facts = os.stat(folder)  # noqa: PTH116
    if not stat.S_ISDIR(facts.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    if facts.st_mode & OTHERS and facts.st_uid == os.geteuid():
        folder.chmod(stat.S_IMODE(facts.st_mode) & ~OTHERS)
