"""Agents at work on a task of which the queue's file knows nothing.

The file was removed, or put back from a copy, while they ran. Their processes
carry their task all the same, so no other agent is let to it before they have
ended. Owns the search and the refusal; ends nothing.
"""

import os
import time
from functools import cache, partial

import msgspec

from sow import env_vars
from sow.errors import StateError
from sow.ids import TaskId
from sow.jobs import jobs
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.processes import process_facts

MOMENT_SECONDS = 1.0


class Stray(msgspec.Struct, frozen=True):
    """What runs of an attempt that is not on record."""

    attempt_id: str
    pids: tuple[int, ...]
    """Its topmost processes: the agent, as a rule."""


class TaskIsCarried(StateError):
    """A process works on the task, and the queue knows nothing of it."""

    def __init__(self, task_id: str, strays: tuple[Stray, ...]) -> None:
        pids = [pid for stray in strays for pid in stray.pids]
        names = ", ".join(stray.attempt_id for stray in strays)
        of = "process" if len(pids) == 1 else "processes"
        super().__init__(
            f"an agent that is not in the queue works on task {task_id}: {of}"
            f" {', '.join(map(str, pids))} (attempt {names})",
            hint="The queue file was removed or replaced while the agent ran. Wait until the"
            f" agent ends, or end it: `{_kill(pids)}`. Then run the command again.",
        )
        self.task_id = task_id
        self.strays = strays
        self.ends_it = _kill(pids)
        """The command that ends it."""


def _kill(pids: list[int]) -> str:
    return f"kill {' '.join(map(str, pids))}"


def refuse_strays(workspace: Workspace, database: Database | None, *task_ids: TaskId) -> None:
    """Refuse a task that a process carries which is not on record. Raises TaskIsCarried.

    One look at all processes serves all of these tasks. Without a queue (`database` is None)
    nothing is on record.
    """
    for task_id, strays in find_strays(workspace, database, *task_ids).items():
        raise TaskIsCarried(task_id, strays)


def find_strays(
    workspace: Workspace, database: Database | None, *task_ids: TaskId
) -> dict[TaskId, tuple[Stray, ...]]:
    """Return what carries tasks of this workspace by attempts that are not on record, by task.

    Without `task_ids` all tasks are meant.
    What an attempt on record has left behind is not counted: it has had its
    end, or recovery sees to it. Processes whose environment may not be read
    are not seen.
    """
    carriers: dict[tuple[TaskId, str], list[int]] = {}
    is_here = cache(partial(_is_here, workspace=workspace))
    for pid in process_facts.carriers(env_vars.TASK_ID, *task_ids):
        variables = process_facts.variables(pid) or {}
        attempt = variables.get(env_vars.ATTEMPT_ID)
        if attempt and is_here(variables.get(env_vars.ROOT, "")):
            task_id = TaskId(variables.get(env_vars.TASK_ID, ""))
            carriers.setdefault((task_id, attempt), []).append(pid)
    names = list({attempt for _, attempt in carriers})
    known = jobs.attempts_on_record(database, names) if names and database else set()
    found: dict[TaskId, tuple[Stray, ...]] = {}
    for task_id, attempt in sorted(carriers):
        if attempt not in known:
            stray = Stray(attempt, _topmost(carriers[task_id, attempt]))
            found[task_id] = (*found.get(task_id, ()), stray)
    return found


class StrayLooks:
    """Such looks of a worker, or of a call: one serves all jobs that it starts within a moment.

    For a worker so does that of the call which has placed a job, in this worker's life: it looks
    just before it does, or a moment before that. A job that is older may stand in a copy of the
    queue's file, put back a moment ago.

    An agent that is on no record has lost it with an earlier queue's file, and with that file the
    worker that started it: none comes to be while one worker has its queue. Nor does any while a
    call has its own open, for each of its transactions asks whether it is still the queue.
    """

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._none_at = float("-inf")
        """When there was none at all, on the monotonic clock."""

    def refuse(
        self, workspace: Workspace, database: Database, task_id: TaskId, *, placed_ago: float
    ) -> None:
        """Refuse a task as `refuse_strays` does. Raises TaskIsCarried.

        `placed_ago` is the age of its job in seconds, by a clock that may have been set meanwhile.
        """
        is_the_calls_new = 0 <= placed_ago < min(MOMENT_SECONDS, time.monotonic() - self._since)
        if not is_the_calls_new:
            self.refuse_any(workspace, database, task_id)

    def refuse_any(self, workspace: Workspace, database: Database, *task_ids: TaskId) -> None:
        """Refuse tasks as `refuse_strays` does. Raises TaskIsCarried."""
        began = time.monotonic()
        if began - self._none_at < MOMENT_SECONDS:
            return
        found = find_strays(workspace, database)
        for task_id in task_ids:
            if task_id in found:
                raise TaskIsCarried(task_id, found[task_id])
        if not found:
            self._none_at = began


def _is_here(root: str, workspace: Workspace) -> bool:
    """Whether a variable names this workspace, perhaps by another path."""
    if root == str(workspace.root):
        return True
    return bool(root) and os.path.realpath(root) == os.path.realpath(workspace.root)


def _topmost(pids: list[int]) -> tuple[int, ...]:
    """Return those that no other of them has started; all where none can be looked at any more."""
    family = process_facts.tree().family(pids)
    top = (pid for pid in pids if pid in family and family[pid].parent not in pids)
    return tuple(top) or tuple(pids)
