"""The state of a workspace as a worker opens it: what agents' git takes is put back first.

Owns when that is looked at: before an agent starts, before an attempt is judged, and every few
seconds while agents run. `sow.state.kept` decides what is put back and why. Whether a job lives,
and who is told of it, is given to the store once, when a process begins (`keeper_hooks.answering`).
"""

import os
import threading
import time
from collections.abc import Callable

from sow.errors import SowError
from sow.faults import reason_of
from sow.ids import ProjectId
from sow.paths import Workspace
from sow.state.kept import keeper_hooks
from sow.state.kept.putback import adopt, differing_names, folders, names_in, sweep
from sow.state.kept.store import Kept, kept_at
from sow.state.projects import read_project
from sow.state.state_errors import NoProject

LOOK_SECONDS = 5.0
MOST_LOOKING = 50
"""A look is followed by at least so many times its own length without one."""
RECENT_NS = 100_000_000
FRESH_SECONDS = 1.0
"""So long after a whole look, the start and the end of an agent look at its own task alone."""


class GuardedState:
    """The state, opened by one worker. Threads may look at the same time: they take turns."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._turn = threading.Lock()
        self._look_at = 0.0
        self._whole_since = float("-inf")
        self._place = ""
        self._seen: dict[str, tuple[int, ...]] = {}
        self._differed: frozenset[str] = frozenset()
        self._opened = threading.local()

    @property
    def copies(self) -> Kept | None:
        """Where the copies lie, as this thread found it when it opened the state last, for readers.

        None where that is to be looked up. Where the branch has changed since, a reader that goes
        by it puts nothing back (`putback.is_at_rest`), as if it had read before that.
        """
        kept: Kept | None = getattr(self._opened, "kept", None)
        return kept and Kept(kept.checkout, kept.project_id)

    def is_of(self, project_id: ProjectId, kept: Kept | None = None) -> bool:
        """Whether a project is the one that is checked out now.

        `kept` is where the copies lie, if that was just looked up.
        """
        try:
            return read_project(self.workspace, kept).id == project_id
        except NoProject:
            return False

    def opens_before_start(
        self, project_id: ProjectId, task_id: str, *, was_looked_at: bool = False
    ) -> bool:
        """Whether a project is checked out, once it is whole for the agent of a task to start.

        `was_looked_at`: somebody else has just compared the files of all tasks.
        """
        kept = self._opened.kept = self._look_at_task(task_id, is_fresh=was_looked_at)
        return self.is_of(project_id, kept)

    def opens_after_end(
        self, project_id: ProjectId, task_id: str, ended_at: float | None, *, others_run: bool
    ) -> bool:
        """Whether a project is checked out, once it is whole for an attempt to be judged.

        `ended_at` is when the agent that may have taken something had ended, on the monotonic
        clock: a look that has begun after that has seen all it did, and is not repeated. Where
        other agents run, what this one took of other tasks may be put back later: after the last
        job has ended, nobody would.
        """
        if others_run:
            kept = self._look_at_task(task_id, since=ended_at)
        else:
            kept = self._look(lambda differing: differing, since=ended_at)
        self._opened.kept = kept
        return self.is_of(project_id, kept)

    def _look_at_task(
        self, task_id: str, since: float | None = None, *, is_fresh: bool = False
    ) -> Kept | None:
        """Look at the files of one task, and at least every FRESH_SECONDS at all others.

        With `is_fresh` somebody else has just looked at all others.

        Many agents that start and end at once would else each ask for every task of the project.
        Returns what `_look` does.
        """
        is_fresh = is_fresh or time.monotonic() - self._whole_since < FRESH_SECONDS
        own = task_id if task_id and is_fresh else None
        return self._look(lambda differing: differing, since=since, task_id=own)

    def look(self) -> None:
        """Put back what was taken, and keep what is new, now. A fault of that stops nothing else.

        Looks into the folders alone that have changed since the last time: git and sow put
        every file in place anew, which changes its folder.
        """
        self._look(lambda differing: differing)

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
    ) -> Kept | None:
        """Look, and return where the copies lie; None where there are none, or without a look."""
        try:
            with self._turn:
                if since is not None and self._whole_since > since:
                    return None
                began = time.monotonic()
                kept = kept_at(self.workspace.root)
                settled = kept is None or self._look_at_changed(kept, choose, task_id)
                if settled and task_id is None:
                    self._whole_since = began
                return kept
        except (SowError, OSError, MemoryError) as error:
            keeper_hooks.OURS.tell(f"the state cannot be read now: {reason_of(error)}")
            return None

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
        there = (name for folder in changed for name in names_in(kept.sow, folder))
        adopt(kept, (name for name in there if name not in names))
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
    for folder in {*folders(kept.sow, task_id), *folders(kept.files, task_id)}:
        try:
            facts = os.stat(f"{kept.sow}/{folder}")  # noqa: PTH116
        except OSError:
            found[folder] = ()
            continue
        recent = now if now - facts.st_mtime_ns < RECENT_NS else 0
        found[folder] = (facts.st_ino, facts.st_mtime_ns, recent)
    return found
