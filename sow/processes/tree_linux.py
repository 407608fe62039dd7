"""What the ender of a process tree needs of Linux: a subreaper, and /proc.

A subreaper inherits every orphan below it (prctl(2)), so its descendants are
the whole tree at any moment, and nothing has to be remembered. Light: the
supervisor, which must start fast, runs on it.
"""

from sow.processes import procfs
from sow.processes.stat import Stat, below

INHERITS_ORPHANS = True
PEAK_MEMORY_BYTES = 1024
"""The unit of wait4(2)'s ru_maxrss."""
PR_SET_CHILD_SUBREAPER = 36

variables = procfs.variables
carriers = procfs.carriers
open_files = procfs.open_files


def inherit_orphans() -> None:
    """Have orphaned descendants become our children instead of init's."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def family(roots: list[int]) -> dict[int, Stat]:
    """Return `roots` and everything below them with its facts, from one look at /proc."""
    table = procfs.processes()
    return {pid: table[pid] for pid in roots if pid in table} | below(table, roots)


def still_running(known: dict[int, str]) -> list[int]:
    """Return those of `known`, pids with their starts, that still are the same processes."""
    return [pid for pid, ticks in known.items() if procfs.is_running(pid, ticks)]
