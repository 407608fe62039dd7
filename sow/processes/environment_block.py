"""The environment that a process shows: the memory where the system has put it at its start.

/proc/PID/environ reads this memory for as long as the process lives. So a fork can show an
environment of its own, where there is room: whoever starts its parent leaves some (`PLACEHOLDER`).
Linux alone; elsewhere nothing is shown.
"""

import os
from collections.abc import Mapping

from sow import env_vars
from sow.processes import procfs

PLACEHOLDER = {env_vars.ROOM: "-" * 8192}
"""What makes room for variables of ours; one of them holds a path."""


def take(environ: Mapping[bytes, bytes]) -> bool:
    """Have this process have and show an environment; False, with nothing done, where it cannot.

    Variables of ours are shown first. Of the others as many are shown as have room.
    """
    import ctypes  # heavy

    bounds = procfs.environment_bounds()
    if bounds is None:
        return False
    start, end = bounds
    ours = env_vars.PREFIX.encode()
    shown = b""
    for name, value in sorted(environ.items(), key=lambda item: not item[0].startswith(ours)):
        variable = name + b"=" + value + b"\0"
        if len(shown) + len(variable) <= end - start:
            shown += variable
        elif name.startswith(ours):
            return False
    os.environb.clear()  # nothing of the C library points there afterwards
    os.environb.update(environ)
    ctypes.memmove(start, shown.ljust(end - start, b"\0"), end - start)
    return procfs.variables(os.getpid()).startswith(shown)
