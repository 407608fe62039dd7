"""How many cases are run, read before the tests' environment is emptied."""

import os

CASES = 1200
"""What CI runs; the whole fuzz is 5,000 of them and more."""
WANTED = int(os.environ.get("SOW_FUZZ") or CASES)


def amount() -> int:
    """Return how many cases to run."""
    return WANTED
