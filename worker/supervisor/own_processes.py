"""Whose processes are whose: what runs of one attempt, and what of it must be left alone.

Owns the look at an attempt's tree, and the memory that a tree needs where
orphans are not inherited. Which processes of a tree are not the attempt's is
`foreign_processes`. Sends no signal. Light: the supervisor runs on it,
and imports the one back end that it was told.
"""

import os
import sys

from sow import env_vars
from worker.supervisor.foreign_processes import spared_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from sow.processes.stat import Stat

FIRST_LOOK_SECONDS = 0.1
LONGEST_LOOK_SECONDS = 1.0
"""How often a tree is looked at that must be remembered: ever more seldom, down to this."""


class Left:
    """What is left of an attempt at one moment, and ours to end."""

    __slots__ = ("groups", "has_just_shrunk", "targets")

    def __init__(self, targets: "dict[int, Stat]", groups: set[int], has_just_shrunk: bool) -> None:
        self.targets = targets
        """The processes that run."""
        self.groups = groups
        """The process groups that hold nothing else: a group's signal misses nobody who forks."""
        self.has_just_shrunk = has_just_shrunk
        """Whether a child of ours has ended unseen; it may have left another meanwhile."""

    def __bool__(self) -> bool:
        return bool(self.targets) or self.has_just_shrunk


class OwnProcesses:
    """The processes below one supervisor, this one."""

    def __init__(
        self, folder: str, tree: "ModuleType", attempt_id: str, *, in_sandbox: bool = False
    ) -> None:
        self.in_sandbox = in_sandbox
        """Whether bubblewrap is between us and the agent."""
        self.tree = tree
        self.folder = folder
        self.attempt_id = attempt_id
        self.helper = 0
        """The pid of a process of ours that is no part of the agent's tree; 0 for none."""
        self._known: dict[int, str] = {}
        self._pause = FIRST_LOOK_SECONDS

    def look(self) -> Left:
        """Look round and return what is left; where nobody can look now, something is."""
        try:
            carriers = [] if self.tree.INHERITS_ORPHANS else self.carriers()
            return self._look(carriers)
        except OSError:  # short of descriptors or memory
            return Left({}, set(), has_just_shrunk=True)

    def remember(self) -> None:
        """Take note of what is below us, where orphans would be lost otherwise."""
        if not self.tree.INHERITS_ORPHANS:
            try:
                self._look([])
            except OSError:  # short of descriptors or memory: the next look will do
                return

    def seconds_to_next_look(self) -> float | None:
        """Return how long to wait until the next `remember`; None where it is not needed."""
        if self.tree.INHERITS_ORPHANS:
            return None
        self._pause = min(self._pause * 2, LONGEST_LOOK_SECONDS)
        return self._pause

    def kilobytes(self, peak_memory: int) -> int:
        """Return what wait4(2) tells of memory in kilobytes."""
        return peak_memory * int(self.tree.PEAK_MEMORY_BYTES) // 1024

    def _look(self, carriers: list[int]) -> Left:
        roots = [os.getpid(), *self.tree.still_running(self._known), *carriers]
        left = left_of(self.tree, roots, self.folder, self.helper)
        if not self.tree.INHERITS_ORPHANS:
            self._known = {pid: process.start_ticks for pid, process in left.targets.items()}
        return left

    def carriers(self) -> list[int]:
        """Return what carries our attempt's id, wherever it is."""
        if not self.attempt_id:
            return []
        pids: list[int] = self.tree.carriers(env_vars.ATTEMPT_ID, self.attempt_id)
        return pids


def load_tree(packages: str | None) -> "ModuleType":
    """Return the back end: Linux's, or the portable one with its packages' folder."""
    if packages is None:
        from sow.processes import tree_linux

        return tree_linux
    sys.path.append(packages)
    from sow.processes import tree_portable

    return tree_portable


def left_of(tree: "ModuleType", roots: list[int], folder: str, helper: int = 0) -> Left:
    """Return what is left of the attempt in `folder`: all at and below `roots`, save strangers.

    We ourselves are never among what is left, nor is a `helper` of ours.
    """
    me = os.getpid()
    family: dict[int, Stat] = tree.family(roots)
    spared = spared_of(tree, family, folder)
    own = {
        pid: process
        for pid, process in family.items()
        if pid not in (me, helper) and not spared & lineage(pid, family)
    }
    return Left(
        {pid: process for pid, process in own.items() if not process.is_dead},
        groups_of(own, family, tree.INHERITS_ORPHANS),
        any(process.is_dead and process.parent == me for process in own.values()),
    )


def groups_of(own: "dict[int, Stat]", family: "dict[int, Stat]", is_whole: bool) -> set[int]:
    """Return the process groups that hold nothing but what is ours.

    A group is joined from below its session's leader only. Where the family is
    `whole`, its groups hold no stranger; else one that is led by a process of ours.
    """
    groups = {process.group for process in own.values()}
    shared = {process.group for pid, process in family.items() if pid not in own}
    return {group for group in groups - shared if is_whole or group in own}


def lineage(pid: int, family: "dict[int, Stat]") -> set[int]:
    """Return `pid` and its ancestors within a family."""
    chain: set[int] = set()
    while pid in family and pid not in chain:
        chain.add(pid)
        pid = family[pid].parent
    return chain
