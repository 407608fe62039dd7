"""Which cases are run, read before the tests' environment is emptied."""

import os

from proving import commit, place_of

CASES = 100
"""So many in a row are run without `SOW_FUZZ`; the whole fuzz is 5,000 and more."""
ROWS = 50
"""The commit draws one of so many rows."""
WANTED = int(os.environ.get("SOW_FUZZ") or 0)


def chosen_cases() -> range:
    """Return the numbers of the cases to run: as many as were asked for, else a drawn row."""
    if WANTED:
        return range(WANTED)
    first = place_of(commit(), ROWS) * CASES
    return range(first, first + CASES)
