"""How a process of ours begins and ends: cheaply. For programs alone, never for who imports sow."""

import gc
import os
import sys
from contextlib import suppress

from sow import late_modules, module_finder

TYPE_CHECKING = False  # as `typing` has it, which is imported once that is cheap
if TYPE_CHECKING:
    from typing import NoReturn

ALLOCATIONS = 50_000
"""How many new objects make Python look for garbage. Importing makes some ten thousand, none of
them garbage, and by Python's own measure (700) a short command searches them some 50 times."""


def begin() -> None:
    """Make importing cheap in this process. It holds for what is imported afterwards."""
    gc.set_threshold(ALLOCATIONS)
    module_finder.install()
    late_modules.put_off()


def leave(code: int) -> "NoReturn":
    """End the process with an exit code, once its standard streams are flushed.

    The interpreter is not torn down first: freeing every object one by one takes up to a fifth of
    a short command's time, and the kernel does it for nothing. A program has closed what it opened.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # gone, closed, or never there
            stream.flush()
    os._exit(code)
