"""A worker's part in keeping state that git takes from under running agents.

Owns when a worker looks: before an agent starts, before an attempt is judged,
and every few seconds while agents run. `sow.state.kept` decides what is put
back and why. Whether a job lives is asked of the queue's records, also of a
file that was removed while we had it open. Where the records cannot be read, it
is asked of the processes: does one of them carry an attempt of this workspace?
"""

import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from sow.calls.state_witness import among_processes, named
from sow.errors import QueueError, SowError
from sow.faults import reason_of
from sow.ids import ProjectId
from sow.jobs import jobs
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.state.kept import keeper_hooks
from sow.state.kept.putback import adopt, differing_names, folders, names_in, sweep
from sow.state.kept.store import Kept, kept_at

LOOK_SECONDS = 5.0
MOST_LOOKING = 50
"""A look is followed by at least so many times its own length without one."""
RECENT_NS = 100_000_000
FRESH_SECONDS = 1.0
"""So long after a whole look, the start of an agent looks at its own task alone."""

logger = logging.getLogger("sow.worker")


def answering(database: Database) -> AbstractContextManager[None]:
    """Answer for this process whether a job lives, and tell what was put back in its log."""

    def live_job_label(root: Path, project_id: str) -> str:
        try:
            return named(jobs.any_live_job(database, ProjectId(project_id)))
        except QueueError:  # a file that was written over in place, say
            return among_processes(root)

    return keeper_hooks.answering(live_job_label, logger.warning)


class StateGuard:
    """The looks of one worker. Threads may look at the same time: they take turns."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._turn = threading.Lock()
        self._look_at = 0.0
        self._whole_since = float("-inf")
        self._place = ""
        self._seen: dict[str, tuple[int, ...]] = {}
        self._differed: frozenset[str] = frozenset()

    def look(self, *, since: float | None = None) -> None:
        """Put back what was taken, and keep what is new, now. A fault of that stops nothing else.

        Looks into the folders alone that have changed since the last time: git and sow put
        every file in place anew, which changes its folder. `since` is when the agent that may
        have taken something had ended, on the monotonic clock: a look that has begun after that
        has seen all it did, and is not repeated.
        """
        self._look(lambda differing: differing, since=since)

    def look_before_start(self, task_id: str) -> None:
        """Look before the agent of a task starts: at its own task, and soon at all others.

        Many agents that start at once would else each ask for every task of the project.
        """
        if time.monotonic() - self._whole_since >= FRESH_SECONDS:
            self.look()
        else:
            self._look(lambda differing: differing, task_id=task_id)

    def look_if_due(self) -> None:
        """Look, at most once in LOOK_SECONDS, and put back what differs for the second time.

        An agent may be between its `git stash` and its `git stash pop`.
        """
        began = time.monotonic()
        if began < self._look_at:
            return
        self._look(lambda differing: differing & self._differed)
        took = time.monotonic() - began
        self._look_at = began + max(LOOK_SECONDS, took * MOST_LOOKING)

    def _look(
        self,
        choose: Callable[[frozenset[str]], frozenset[str]],
        *,
        since: float | None = None,
        task_id: str | None = None,
    ) -> None:
        try:
            with self._turn:
                if since is not None and self._whole_since > since:
                    return
                began = time.monotonic()
                kept = kept_at(self.workspace.root)
                settled = kept is None or self._look_at_changed(kept, choose, task_id)
                if settled and task_id is None:
                    self._whole_since = began
        except (SowError, OSError, MemoryError) as error:
            logger.warning("the state cannot be looked at now: %s", reason_of(error))

    def _look_at_changed(
        self,
        kept: Kept,
        choose: Callable[[frozenset[str]], frozenset[str]],
        task_id: str | None,
    ) -> bool:
        """Look, and return whether nothing differs any more: git may have been at work."""
        if kept.folder != self._place:
            self._place, self._seen = kept.folder, {}
        signatures = _signatures(kept, task_id)
        changed = [
            folder for folder, facts in signatures.items() if self._seen.get(folder) != facts
        ]
        names = {name for folder in changed for name in names_in(kept.files, folder)}
        differing = frozenset(differing_names(kept, names))
        chosen = choose(differing)
        if chosen:
            sweep(kept, sorted(chosen))
        adopt(kept, (name for folder in changed for name in names_in(kept.sow, folder)))
        again = {name.rpartition("/")[0] for name in differing}
        seen = {folder: facts for folder, facts in signatures.items() if folder not in again}
        if task_id is None:
            self._differed, self._seen = differing, seen
        else:
            self._seen = {**self._seen, **dict.fromkeys(again, NEVER), **seen}
        return not differing_names(kept, differing)


NEVER = (-1,)
"""What no folder has: it is looked at the next time."""


def _signatures(kept: Kept, task_id: str | None = None) -> dict[str, tuple[int, ...]]:
    """Return, for each folder to be looked at, what changes with the files that are put there.

    With `task_id`, only for the folders of that task, and for those above all tasks. A folder
    that has changed within the last moments may change again unseen, so it counts as changed
    once more.
    """
    now = time.time_ns()
    found: dict[str, tuple[int, ...]] = {}
    looked_at = {*folders(kept.sow), *folders(kept.files)}
    if task_id is not None:
        ends = (f"/tasks/{task_id}", f"/tasks/{task_id}/feedback")
        looked_at = {name for name in looked_at if "/" not in name or name.endswith(ends)}
    for folder in looked_at:
        try:
            facts = os.stat(f"{kept.sow}/{folder}")  # noqa: PTH116
        except OSError:
            found[folder] = ()
            continue
        recent = now if now - facts.st_mtime_ns < RECENT_NS else 0
        found[folder] = (facts.st_ino, facts.st_mtime_ns, recent)
    return found
