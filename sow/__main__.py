"""`python -P -m sow`: the command line."""

import gc
import sys

ALLOCATIONS = 50_000
"""How many new objects make Python look for garbage. Importing makes some ten thousand, none of
them garbage, and by Python's own measure (700) a short command searches them some 50 times."""


def main() -> int:
    """Run the command line and return its exit code."""
    gc.set_threshold(ALLOCATIONS)
    from sow.cli.root import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
