"""Whether git is at work in a checkout now, so that its files say nothing yet.

Owns the waiting for its end, and what may be concluded of a git that never
rests. Reads git's own files, runs no git.
"""

import os
import time

from sow.state.kept.store import Checkout, Kept

QUIET_SECONDS = 0.3
"""So long after git's last write to its index, HEAD names what it has checked out."""
PATIENCE_SECONDS = 3.0
MANY_WRITES, MANY_SECONDS = 3, 1.0
"""So many writes of git's index in so long a time, under one HEAD, are no change of branch."""
HEAD_SECONDS = 0.05
"""So soon after its index git has written HEAD, if it changes that."""
STALE_SECONDS = 600.0


def is_at_rest(kept: Kept, *, surely: bool = False) -> bool:
    """Wait until git is not at work here, and return whether HEAD is still the same.

    A checkout changes the files first, then its index, and HEAD last: in between, the
    files of one branch stand under the name of the other. Where git does not rest, that may
    be concluded from what it does, unless it has to be known `surely`.
    """
    git, began = kept.checkout.git, time.monotonic()
    writes = set()
    while git and _is_at_work(git):
        writes.add(_written_at(f"{git}/index"))
        waited = time.monotonic() - began
        if not surely and _keeps_branch(git, len(writes), waited):
            time.sleep(HEAD_SECONDS)
            break
        if waited >= PATIENCE_SECONDS:
            return False
        time.sleep(0.02)
    now = Checkout(kept.checkout.root)
    return (now.git, now.head) == (git, kept.checkout.head)


def _is_at_work(git: str) -> bool:
    lock, index = _age(f"{git}/index.lock"), _age(f"{git}/index")
    return lock < STALE_SECONDS or index < QUIET_SECONDS


def _keeps_branch(git: str, writes: int, waited: float) -> bool:
    """Whether git, which does not rest, is taken to stay on its branch.

    A git that was killed leaves its lock behind, and nobody has that open. And of commands
    that have written the index `writes` times meanwhile, a change of branch would be seen in
    HEAD: to wait for the end of them all would be to lose what others report.
    """
    lock = f"{git}/index.lock"
    if not os.path.lexists(lock):
        return writes >= MANY_WRITES and waited >= MANY_SECONDS
    if waited < PATIENCE_SECONDS:
        return False
    # Asked only while git is at work.
    from sow.processes import process_facts

    return not process_facts.is_open_somewhere(lock)


def _age(path: str) -> float:
    """Return how long ago a file was written, in seconds; for ever where there is none."""
    return abs(time.time() - _written_at(path))


def _written_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime  # noqa: PTH116
    except OSError:
        return float("inf")
