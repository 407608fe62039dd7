"""`python -P -m sow`: the command line, and how its process begins and ends."""

import gc
import os
import sys
from contextlib import suppress
from typing import NoReturn

from sow import late_modules, module_finder

ALLOCATIONS = 50_000
"""How many new objects make Python look for garbage. Importing makes some ten thousand, none of
them garbage, and by Python's own measure (700) a short command searches them some 50 times."""


def main() -> NoReturn:
    """Run the command line, and end the process with its exit code.

    The interpreter is not torn down first: freeing every object one by one
    takes up to a fifth of a short command's time, and the kernel does it for
    nothing. A command has closed what it opened; what it said is flushed here.
    """
    gc.set_threshold(ALLOCATIONS)
    module_finder.install()
    late_modules.put_off()
    # All three are to hold for what this imports.
    from sow.cli.root import run

    code = run(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # gone, closed, or never there
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
