"""A worker's part in keeping state that git takes from under running agents.

Owns when a worker looks: before an agent starts, before an attempt is judged,
and every few seconds while agents run. What is put back and why is
`sow.state.kept`; a worker knows by its own records that a job lives, though
the queue's file may be gone from the disk.
"""

import logging
import os
import time
from pathlib import Path

from sow.errors import SowError
from sow.ids import ProjectId
from sow.jobs import jobs
from sow.sessions.witness import named
from sow.state.kept import surroundings
from sow.state.kept.putback import adopt, differing_names, sweep
from sow.state.kept.store import Kept, kept_at
from worker.context import WorkerContext

LOOK_SECONDS = 5.0

logger = logging.getLogger("sow.worker")


def install(context: WorkerContext) -> None:
    """Answer for this process whether a job lives, and tell what was put back in its log."""

    def who_lives(_root: Path, project_id: str) -> str:
        return named(jobs.any_live_job(context.database, ProjectId(project_id)))

    surroundings.install(who_lives, logger.warning)


def see_to_state(context: WorkerContext) -> None:
    """Put back what was taken, and keep what is new, now. A fault of that stops nothing else."""
    try:
        kept = kept_at(context.workspace.root)
        if kept is not None:
            sweep(kept)
            adopt(kept)
    except (SowError, OSError) as error:
        logger.warning("the state cannot be looked at now: %s", error)


class StateGuard:
    """The looks of the monitor's thread, at most one in LOOK_SECONDS.

    What differs is put back at the second look that finds it: an agent may be
    between its `git stash` and its `git stash pop`.
    """

    def __init__(self, context: WorkerContext) -> None:
        self.context = context
        self._look_at = 0.0
        self._seen: dict[str, tuple[int, ...]] = {}
        self._differed: frozenset[str] = frozenset()

    def look_if_due(self) -> None:
        """Look at the folders that have changed since the last time."""
        if time.monotonic() < self._look_at:
            return
        self._look_at = time.monotonic() + LOOK_SECONDS
        kept = kept_at(self.context.workspace.root)
        if kept is None:
            return
        signature = _signature(kept)
        if signature == self._seen:
            return
        differing = frozenset(differing_names(kept))
        lasting = differing & self._differed
        if lasting:
            sweep(kept, lasting)
        adopt(kept)
        self._differed = differing - lasting
        self._seen = {} if self._differed or lasting else signature


def _signature(kept: Kept) -> dict[str, tuple[int, ...]]:
    """Return what changes with every file that git or sow puts in place: the folders' times.

    A folder that has changed within the last moments may change again unseen, so it counts
    as changed once more.
    """
    now = time.time_ns()
    found: dict[str, tuple[int, ...]] = {"": (hash(kept.folder),)}
    for folder, folders, _ in os.walk(f"{kept.sow}/project"):
        facts = Path(folder).stat()
        recent = now if now - facts.st_mtime_ns < 100_000_000 else 0
        found[folder] = (facts.st_ino, facts.st_mtime_ns, recent)
        folders[:] = [name for name in folders if name[0] != "."]
    return found
