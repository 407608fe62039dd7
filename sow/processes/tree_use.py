"""What some processes use together: memory, CPU time, and how many they are.

Owns how that is read from /proc where no control group tells it (proc_pid_stat(5)). A process's
resident memory counts what several share once for each: so a sum of it is only an upper bound,
and the exact one is asked for where that bound is beyond a limit. Light: the supervisor runs on it.
Imported for an attempt with limits alone.
"""

import os

from sow.processes import procfs

USER, SYSTEM, CHILDREN_USER, CHILDREN_SYSTEM, THREADS, RESIDENT = 11, 12, 13, 14, 17, 21
"""Where these stand behind a process's name."""


class Use:
    """A sum over processes."""

    __slots__ = ("cpu_seconds", "memory_bytes", "tasks")

    def __init__(self) -> None:
        self.tasks = 0
        """How many processes and threads there are, as the kernel's own limit counts them."""
        self.memory_bytes = 0
        self.cpu_seconds = 0.0
        """The time of those that run, and of those that have ended and that one of them has
        waited for."""


def use_of(pids: list[int], *, exactly: bool = False) -> Use:
    """Return what some processes use. Memory `exactly` takes a look at each mapping."""
    use, page, tick = Use(), os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")
    for pid in pids:
        fields = procfs.stat_fields(pid)
        if not fields:
            continue
        memory = procfs.proportional_bytes(pid) if exactly else None
        use.memory_bytes += int(fields[RESIDENT]) * page if memory is None else memory
        use.tasks += int(fields[THREADS])
        spent = (USER, SYSTEM, CHILDREN_USER, CHILDREN_SYSTEM)
        use.cpu_seconds += sum(int(fields[place]) for place in spent) / tick
    return use
