"""What the ender of a process tree needs of Linux: a subreaper, and /proc.

A subreaper inherits every orphan below it (prctl(2)), so its descendants are
the whole tree at any moment, and nothing has to be remembered. Light: the
supervisor, which must start fast, runs on it.
"""

import os

from sow.processes import cgroup, procfs
from sow.processes.stat import Stat, below

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ctypes

    from sow.processes.tree_use import Use

INHERITS_ORPHANS = True
PEAK_MEMORY_BYTES = 1024
"""The unit of wait4(2)'s ru_maxrss."""
PR_SET_PDEATHSIG = 1
SIGKILL = 9
PR_SET_CHILD_SUBREAPER = 36

_libc: "ctypes.CDLL | None" = None

variables = procfs.variables
carriers = procfs.carriers
open_files = procfs.open_files


def inherit_orphans() -> None:
    """Have orphaned descendants become our children instead of init's."""
    _set_subreaper(1)


def leave_orphans() -> None:
    """Undo `inherit_orphans`: a program that we become would not know what to do with them."""
    _set_subreaper(0)


def end_with_parent() -> None:
    """Have the kernel kill us when the thread that has started us ends, were we stopped then.

    What we fork is not killed with it (PR_SET_PDEATHSIG(2const)).
    """
    _prctl(PR_SET_PDEATHSIG, SIGKILL)


def look_ahead() -> None:
    """Find what does not change before others are forked from us, once for all of them."""
    cgroup.own_home()


def _set_subreaper(value: int) -> None:
    _prctl(PR_SET_CHILD_SUBREAPER, value)


def _prctl(option: int, value: int) -> None:
    import ctypes  # heavy: the fork server imports it once

    global _libc  # noqa: PLW0603 - loaded once, not in each supervisor
    _libc = _libc or ctypes.CDLL(None, use_errno=True)
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}, {value})")


def fence() -> str:
    """Enter a group of processes that all we start is born into; return its folder, or nothing."""
    me = os.getpid()
    stat = procfs.read_stat(me)
    return cgroup.enter(fence_name(me, stat.start_ticks)) if stat else ""


def fenced(folder: str, pid: int, start_ticks: str) -> list[int]:
    """Return what is left in the group of a supervisor that had this pid and start.

    `folder` is empty where it did not live to tell.
    """
    return cgroup.members(folder or cgroup.folder_of(fence_name(pid, start_ticks)))


def unfence(folder: str, pid: int, start_ticks: str) -> None:
    """Remove that group, if nothing is left in it."""
    cgroup.remove(folder or cgroup.folder_of(fence_name(pid, start_ticks)))


def give_up_fence(folder: str) -> None:
    """Leave the group that we have entered, and remove it: nothing was born into it."""
    if folder:
        cgroup.leave()
        cgroup.remove(folder)


def leave_fence() -> None:
    """Leave the group that we were born into, and remove those that are empty."""
    cgroup.leave()
    cgroup.sweep()


def fence_name(pid: int, start_ticks: str) -> str:
    """Return the name of a supervisor's group."""
    return f"{pid}-{start_ticks}"


def lock_holders(path: str) -> list[int]:
    """Return who holds the lock on a file by a descriptor, inherited perhaps.

    The kernel tells of a lock with each descriptor that shares it
    (proc_pid_fdinfo(5)); whoever merely has the file open has none.
    """
    real = os.path.realpath(path)
    return [pid for pid in procfs.all_pids() if procfs.holds_lock(pid, real)]


def family(roots: list[int]) -> dict[int, Stat]:
    """Return `roots` and everything below them with its facts, from one look at /proc."""
    table = procfs.processes()
    return {pid: table[pid] for pid in roots if pid in table} | below(table, roots)


def use_of(pids: list[int], *, exactly: bool = False) -> "Use":
    """Return what some processes use; memory `exactly` takes a hundred times as long."""
    from sow.processes import tree_use  # few attempts have limits

    return tree_use.use_of(pids, exactly=exactly)


def still_running(known: dict[int, str]) -> list[int]:
    """Return those of `known`, pids with their starts, that still are the same processes."""
    return [pid for pid, ticks in known.items() if procfs.is_running(pid, ticks)]
