"""How many jobs a worker takes on at once: fewer for a while after the machine ran short.

Owns that number, and the worker's own limit of open files. What the machine ran
short of (open files, processes, memory) is `sow.faults`.
"""

import resource

from worker.broker import Claims
from worker.context import logger

RELIEF_SECONDS = 60.0
"""How long a worker is modest after the last time that the machine ran short."""
MOST_OPEN_FILES = 8192
"""As many as a worker could ever use; on macOS the hard limit may be none at all."""


class Room:
    """The number of jobs that a worker runs at once, as its claims see it. For one thread."""

    def __init__(self, claims: Claims) -> None:
        self._claims = claims
        self._short_at: float | None = None

    def shrink(self, running: int, what: str, *, now: float) -> None:
        """Take no more than now run, at least one, for the machine is short. `now` is monotonic."""
        if self._short_at is None:
            logger.warning(
                "this machine is short of %s; running up to %d jobs at once until it is not",
                what,
                max(1, running),
            )
        before = running if self._claims.most is None else self._claims.most
        self._claims.most = max(1, min(running, before))
        self._short_at = now

    def look(self, *, now: float) -> None:
        """Be back at the full number once nothing has been short for a while."""
        if self._short_at is not None and now - self._short_at >= RELIEF_SECONDS:
            self._short_at = None
            self._claims.most = None
            logger.info("running up to %d agents at once again", self._claims.own)


def raise_open_files() -> int:
    """Raise this process's soft limit of open files; return what it was, for the agents."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):
            logger.info("the limit of open files stays at %d", soft)
    return soft
