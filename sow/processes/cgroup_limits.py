"""What the kernel holds a group of processes to: memory, and the number of processes.

Owns the files of cgroups(7), version 2, by which a group is limited and says what it uses, and the
parts of an attempt's group: its supervisor is in one and its agent in the other, for a limit ends
all that is in a group. The kernel limits a group only where the group above says so, and that one
may then hold no process itself. So what is ours moves into a group of its own first (`delegate`),
and only where nothing else is there: whoever started us has given us that group alone.

CPU time is counted in each group, whether or not a controller is there. Light: the supervisor runs
on it. Imported for an attempt with limits alone.
"""

import os

from sow.processes import cgroup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MEMORY, PIDS = "memory", "pids"
CONTROLLERS = (MEMORY, PIDS)
SERVICE = ".service"
MOST_ROUNDS = 20
"""How often those are moved that were forked meanwhile."""
MICROSECONDS = 1_000_000


def delegate(home: str, is_ours: "Callable[[int], bool]") -> None:
    """Have the kernel limit the groups that are made in our home, where it may; else do nothing.

    `is_ours` tells of a process whether we may move it.
    """
    missing = _missing(home)
    if not missing or not _may_change(home, is_ours):
        return
    rest = f"{home}/{cgroup.REST}"
    try:
        for _ in range(MOST_ROUNDS):
            pids = cgroup.processes_in(home)
            if not pids:
                break
            for pid in pids:
                _join_if_there(rest, pid)
    except OSError:
        return  # it is watched instead
    _try_to_write(f"{home}/cgroup.subtree_control", " ".join(f"+{name}" for name in missing))


def kept_in(home: str, is_ours: "Callable[[int], bool]") -> frozenset[str]:
    """Return what the kernel keeps, or would once it was asked, for a worker with this home.

    Those are controllers, and `cpu` where a group can be made at all, which counts its CPU time.
    """
    if not home or not os.access(home, os.W_OK):
        return frozenset()
    kept = {name for name in CONTROLLERS if name in _words(f"{home}/cgroup.subtree_control")}
    if _may_change(home, is_ours):
        kept |= set(_missing(home))
    return frozenset({*kept, "cpu"})


def _missing(home: str) -> list[str]:
    """Return what could be limited below a group and is not yet."""
    if not home:
        return []
    there, enabled = _words(f"{home}/cgroup.controllers"), _words(f"{home}/cgroup.subtree_control")
    return [name for name in CONTROLLERS if name in there and name not in enabled]


def _may_change(home: str, is_ours: "Callable[[int], bool]") -> bool:
    """Whether a group was given to us alone. That of the whole machine never was.

    Nothing is moved out of a systemd service: its manager starts the service again in that group,
    and could not. With `DelegateSubgroup=` nothing has to be moved.
    """
    if not os.path.exists(f"{home}/cgroup.type"):  # noqa: PTH110 - the machine's has none
        return False
    if not os.access(f"{home}/cgroup.subtree_control", os.W_OK):
        return False
    pids = cgroup.processes_in(home)
    return not pids or (not home.endswith(SERVICE) and all(map(is_ours, pids)))


def _join_if_there(folder: str, pid: int) -> None:
    try:
        cgroup.join(folder, pid)
    except ProcessLookupError:
        return


class AgentGroup:
    """The agent's part of an attempt's group.

    What it runs is in a group inside of it. In namespaces of its own an agent may mount what lies
    below the group that it is in, and write there (cgroup_namespaces(7)): the limits lie above.
    """

    def __init__(self, fence: str) -> None:
        """Make both parts of a group that we have entered, and enter the supervisor's.

        Raises OSError.
        """
        self._supervisors = f"{fence}/{cgroup.SUPERVISOR}"
        self.folder = f"{fence}/{cgroup.AGENT}"
        self._inner = f"{self.folder}/run"
        cgroup.join(self._supervisors)
        cgroup.make(self.folder)
        cgroup.make(self._inner)
        for name in CONTROLLERS:
            _try_to_write(f"{fence}/cgroup.subtree_control", f"+{name}")

    def enter(self) -> None:
        """Enter it, so that what we start is born there. Raises OSError."""
        cgroup.move_to(self._inner)

    def leave(self) -> None:
        """Go back to the supervisor's part, which may have been swept. Raises OSError."""
        cgroup.join(self._supervisors)

    def limit_memory(self, most: int) -> bool:
        """Have the kernel kill all of it that takes more bytes; return whether it does so.

        Swap is no way out: it would slow down the whole machine.
        """
        _try_to_write(f"{self.folder}/memory.swap.max", "0")
        whole = _try_to_write(f"{self.folder}/memory.oom.group", "1")
        return whole and _try_to_write(f"{self.folder}/memory.max", str(most))

    def limit_processes(self, most: int) -> bool:
        """Have the kernel refuse it any process or thread beyond so many; tell whether it does."""
        return _try_to_write(f"{self.folder}/pids.max", str(most))

    def was_out_of_memory(self) -> bool:
        """Whether the kernel has killed it for its own limit, and not for want of memory."""
        events = f"{self.folder}/memory.events"
        return _value(events, "oom") > 0 and _value(events, "oom_kill") > 0

    def was_refused_processes(self) -> bool:
        """Whether it was refused one."""
        return _value(f"{self.folder}/pids.events", "max") > 0

    def cpu_seconds(self) -> float:
        """Return the CPU time that was spent in it, by those that have ended too."""
        return _value(f"{self.folder}/cpu.stat", "usage_usec") / MICROSECONDS

    def members(self) -> list[int]:
        """Return the processes in it."""
        return cgroup.members(self.folder)

    def kill(self) -> None:
        """Kill all of it at once, where the kernel can (5.14 and newer)."""
        _try_to_write(f"{self.folder}/cgroup.kill", "1")


def _value(path: str, name: str) -> int:
    """Return the number behind a name in a file of such lines; 0 where there is none."""
    for line in cgroup.read(path).splitlines():
        found, _, value = line.partition(" ")
        if found == name and value.isdecimal():
            return int(value)
    return 0


def _words(path: str) -> list[str]:
    return cgroup.read(path).split()


def _try_to_write(path: str, text: str) -> bool:
    try:
        cgroup.write(path, text)
    except OSError:
        return False
    return True
