"""The facts of one process at one moment, the same from either back end.

A leaf: the supervisor, which must start fast, runs on it, so it imports nothing.
"""

DEAD_STATES = "ZX"
STOPPED_STATES = "Tt"


class Stat:
    """The few fields of a process that sow uses.

    `state` is one letter, as in proc_pid_stat(5); Z and X are dead, T is stopped.
    `start_ticks`, the clock ticks from boot to the process's start, makes an
    identity together with the pid (the portable back end: psutil's create_time).
    `cpu_ticks` is the user and system time spent, in clock ticks. (No
    NamedTuple: importing typing takes a third of the time until the agent runs.)
    """

    __slots__ = ("cpu_ticks", "group", "parent", "session", "start_ticks", "state")

    def __init__(
        self,
        *,
        state: str,
        parent: int,
        group: int,
        session: int,
        start_ticks: str,
        cpu_ticks: int = 0,
    ) -> None:
        self.state = state
        self.parent = parent
        self.group = group
        self.session = session
        self.start_ticks = start_ticks
        self.cpu_ticks = cpu_ticks

    @property
    def is_dead(self) -> bool:
        """Whether only its entry in the process table is left."""
        return self.state in DEAD_STATES

    @property
    def is_stopped(self) -> bool:
        """Whether it was stopped, and heeds no signal but SIGKILL and SIGCONT."""
        return self.state in STOPPED_STATES


def below(table: dict[int, Stat], roots: list[int]) -> dict[int, Stat]:
    """Return the part of a process table that lies below `roots`, the roots left out."""
    children: dict[int, list[int]] = {}
    for pid, stat in table.items():
        children.setdefault(stat.parent, []).append(pid)
    found: dict[int, Stat] = {}
    waiting = [pid for root in roots for pid in children.get(root, ())]
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found[pid] = table[pid]
            waiting.extend(children.get(pid, ()))
    return found
