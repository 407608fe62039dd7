"""The environment that a process shows: the memory where the system has put it at its start.

/proc/PID/environ reads this memory for as long as the process lives. So a fork can show an
environment of its own, where there is room: whoever starts its parent leaves some (`PLACEHOLDER`).
Linux alone; elsewhere nothing is shown.
"""

import os
from collections.abc import Mapping
from typing import NamedTuple

from sow import env_vars
from sow.processes import procfs

PLACEHOLDER = {env_vars.ROOM: "-" * 8192}
"""What makes room for variables of ours; one of them holds a path."""


class Block(NamedTuple):
    """What a process is to show, and where it lies in its memory and in that of its forks."""

    start: int
    content: bytes


def block_for(environ: Mapping[bytes, bytes]) -> Block | None:
    """Return what a fork of this process is to show of an environment; None where it cannot.

    Variables of ours are shown first. Of the others as many are shown as have room.
    """
    import ctypes  # heavy

    bounds = procfs.environment_bounds()
    if bounds is None:
        return None
    start, end = bounds
    if ctypes.string_at(start, end - start) != procfs.variables(os.getpid()):
        return None
    ours = env_vars.PREFIX.encode()
    shown, room = [], end - start
    for name, value in sorted(environ.items(), key=lambda item: not item[0].startswith(ours)):
        variable = name + b"=" + value + b"\0"
        if len(variable) <= room:
            shown.append(variable)
            room -= len(variable)
        elif name.startswith(ours):
            return None
    return Block(start, b"".join(shown).ljust(end - start, b"\0"))


def take(environ: Mapping[bytes, bytes], block: Block) -> None:
    """Have this process have an environment, and show what `block_for` has returned for it."""
    import ctypes  # heavy

    os.environb.clear()  # nothing of the C library points there afterwards
    os.environb.update(environ)
    ctypes.memmove(block.start, block.content, len(block.content))
