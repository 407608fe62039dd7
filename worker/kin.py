"""Whose processes are whose: what runs of one attempt, and what of it must be left alone.

An agent's own `sow` calls start workers, and these start supervisors of other
attempts. They lie below the agent, and are not its. Owns that rule, and the
memory that a tree needs where orphans are not inherited. Sends no signal.
Light: the supervisor runs on it.
"""

import fcntl
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from sow.processes.stat import Stat

ATTEMPT_VARIABLE = "SOW_ATTEMPT_ID"
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


class Kin:
    """The processes below one supervisor, this one."""

    def __init__(self, folder: str, tree: "ModuleType") -> None:
        self.tree = tree
        self.run = run_folder(folder)
        self.attempt_id = os.environ.get(ATTEMPT_VARIABLE, "")
        self._known: dict[int, str] = {}
        self._pause = FIRST_LOOK_SECONDS

    def look(self) -> Left:
        """Look round and return what is left."""
        carriers = [] if self.tree.INHERITS_ORPHANS else self._carriers()
        return self._look(carriers)

    def remember(self) -> None:
        """Take note of what is below us, where orphans would be lost otherwise."""
        if not self.tree.INHERITS_ORPHANS:
            self._look([])

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
        left = left_of(self.tree, roots, self.attempt_id, self.run)
        if not self.tree.INHERITS_ORPHANS:
            self._known = {pid: one.start_ticks for pid, one in left.targets.items()}
        return left

    def _carriers(self) -> list[int]:
        """Return what carries our attempt's id, wherever it is."""
        if not self.attempt_id:
            return []
        pids: list[int] = self.tree.carriers(ATTEMPT_VARIABLE, self.attempt_id)
        return pids


def load_tree(packages: str | None) -> "ModuleType":
    """Return the back end: Linux's, or the portable one with its packages' folder."""
    if packages is None:
        from sow.processes import tree_linux

        return tree_linux
    sys.path.append(packages)
    from sow.processes import tree_portable

    return tree_portable


def run_folder(attempt_folder: str) -> str:
    """Return `.sow/run` for an attempt's folder `.sow/run/jobs/<job>/<attempt>`."""
    return os.path.dirname(os.path.dirname(os.path.dirname(attempt_folder)))  # noqa: PTH120


def left_of(tree: "ModuleType", roots: list[int], attempt_id: str, run: str) -> Left:
    """Return what is left of an attempt: what runs at and below `roots` but is not spared.

    Another attempt's supervisor, a registered worker and all that is below
    them are spared; a supervisor carries no attempt's id (`standby`). We
    ourselves are never among what is left.
    """
    me = os.getpid()
    family: dict[int, Stat] = tree.family(roots)
    workers = registered_workers(run)
    spared = {
        pid
        for pid, one in family.items()
        if is_registered(pid, one, workers) or (pid != me and is_of_another(tree, pid, attempt_id))
    }
    own = {
        pid: one for pid, one in family.items() if pid != me and not spared & lineage(pid, family)
    }
    return Left(
        {pid: one for pid, one in own.items() if not one.is_dead},
        groups_of(own, family, tree.INHERITS_ORPHANS),
        any(one.is_dead and one.parent == me for one in own.values()),
    )


def groups_of(own: "dict[int, Stat]", family: "dict[int, Stat]", is_whole: bool) -> set[int]:
    """Return the process groups that hold nothing but what is ours.

    A group is joined from below its session's leader only. Where the family is
    `whole`, its groups hold no stranger; else one that is led by a process of ours.
    """
    groups = {one.group for one in own.values()}
    shared = {one.group for pid, one in family.items() if pid not in own}
    return {group for group in groups - shared if is_whole or group in own}


def lineage(pid: int, family: "dict[int, Stat]") -> set[int]:
    """Return `pid` and its ancestors within a family."""
    chain: set[int] = set()
    while pid in family and pid not in chain:
        chain.add(pid)
        pid = family[pid].parent
    return chain


def is_of_another(tree: "ModuleType", pid: int, attempt_id: str) -> bool:
    """Whether a process belongs to another attempt."""
    variables = b"\0" + tree.variables(pid)
    if f"\0{ATTEMPT_VARIABLE}=".encode() not in variables:
        return False
    return f"\0{ATTEMPT_VARIABLE}={attempt_id}\0".encode() not in variables


def is_registered(pid: int, one: "Stat", workers: dict[int, tuple[str, str]]) -> bool:
    """Whether a process is a registered worker that lives.

    Raw start ticks prove it. Where a worker or we use the portable back end,
    starts are told in other words or move with the clock; then the lock does.
    """
    if pid not in workers:
        return False
    ticks, path = workers[pid]
    if ticks == one.start_ticks:
        return True
    return not (ticks.isdigit() and one.start_ticks.isdigit()) and is_held(path)


def registered_workers(run: str) -> dict[int, tuple[str, str]]:
    """Return by pid the start ticks of each worker, as its lock file tells them, and that file."""
    workers: dict[int, tuple[str, str]] = {}
    try:
        names = os.listdir(run + "/workers")  # noqa: PTH208
    except OSError:
        return workers
    for name in names:
        if name.endswith(".lock"):
            path = f"{run}/workers/{name}"
            try:
                with open(path, encoding="ascii") as file:  # noqa: PTH123
                    pid, ticks = file.read().split()
                workers[int(pid)] = ticks, path
            except (OSError, ValueError):
                continue
    return workers


def is_held(path: str) -> bool:
    """Whether anybody holds the lock on a file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(fd)
