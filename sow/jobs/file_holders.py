"""Which processes have a file open: by the file itself, whatever name it has by now.

Owns that look. Where there is no /proc nobody can tell, and none is found.
"""

import os
from contextlib import suppress


def holds(pid: int, file: os.stat_result) -> bool:
    """Whether a process of ours has a file open. Raises OSError where nobody may look."""
    with os.scandir(f"/proc/{pid}/fd") as entries:
        for entry in entries:
            with suppress(OSError):
                if os.path.samestat(entry.stat(), file):
                    return True
    return False


def holders(file: os.stat_result) -> list[int]:
    """Return the processes that have a file open, as far as we may look."""
    found = []
    with suppress(OSError):
        for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - speed
            with suppress(OSError):
                if holds(int(name), file):
                    found.append(int(name))
    return sorted(found)
