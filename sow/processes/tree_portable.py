"""What the ender of a process tree needs, by psutil: looks, and no subreaper.

An orphan becomes init's child and is lost to whoever looks at parents only. So
the ender has to look now and then and remember what it saw. What left its
parents between two looks is still found by its environment where that may be
read; one that has cleared its environment as well is not found.
"""

import os
import sys

import psutil

from sow.processes import portable
from sow.processes.portable import started, unless_gone
from sow.processes.stat import Stat
from sow.processes.tree_use import Use

INHERITS_ORPHANS = False
PEAK_MEMORY_BYTES = 1 if sys.platform == "darwin" else 1024
"""The unit of getrusage(2)'s ru_maxrss: bytes on macOS, kilobytes elsewhere."""

_STATES = {psutil.STATUS_ZOMBIE: "Z", psutil.STATUS_DEAD: "X", psutil.STATUS_STOPPED: "T"}


carriers = portable.carriers


def inherit_orphans() -> None:
    """Do nothing: only Linux lets a process inherit orphans."""


def leave_orphans() -> None:
    """Do nothing, for the same reason."""


def end_with_parent() -> None:
    """Do nothing: only Linux kills a process with its parent."""


def look_ahead() -> None:
    """Do nothing: there are no groups to find."""


def fence() -> str:
    """Do nothing: only Linux keeps groups that nobody leaves by a fork."""
    return ""


def fenced(folder: str, pid: int, start_ticks: str) -> list[int]:  # noqa: ARG001
    """Return nobody."""
    return []


def unfence(folder: str, pid: int, start_ticks: str) -> None:
    """Do nothing."""


def give_up_fence(folder: str) -> None:
    """Do nothing: there was no group."""


def leave_fence() -> None:
    """Do nothing."""


def lock_holders(path: str) -> list[int]:  # noqa: ARG001
    """Return nobody: who holds a lock is not told here."""
    return []


def family(roots: list[int]) -> dict[int, Stat]:
    """Return `roots` and everything below them that can be looked at, with its facts."""
    found: dict[int, Stat] = {}
    for root in roots:
        if root not in found:
            found.update(_subtree(root))
    return found


def use_of(pids: list[int], *, exactly: bool = False) -> Use:
    """Return what some processes use; their memory is what is resident, `exactly` or not."""
    del exactly
    use = Use()
    for pid in pids:
        unless_gone(None, _add, use, pid)
    return use


def _add(use: Use, pid: int) -> None:
    process = psutil.Process(pid)
    with process.oneshot():
        spent = process.cpu_times()
        use.tasks += process.num_threads()
        use.memory_bytes += process.memory_info().rss
    own = spent.user + spent.system
    use.cpu_seconds += (
        own + getattr(spent, "children_user", 0.0) + getattr(spent, "children_system", 0.0)
    )


def still_running(known: dict[int, str]) -> list[int]:
    """Return those of `known`, pids with their starts, that still are the same processes."""
    return [pid for pid, start in known.items() if _started(pid) == start]


def _started(pid: int) -> str:
    return unless_gone("", lambda: started(psutil.Process(pid)))


def _subtree(root: int) -> dict[int, Stat]:
    try:
        process = psutil.Process(root)
        members = [process, *process.children(recursive=True)]
    except psutil.Error:
        return {}
    looks = ((member.pid, unless_gone(None, _look_at, member)) for member in members)
    return {pid: stat for pid, stat in looks if stat is not None}


def variables(pid: int) -> bytes:
    """Return the environment that `pid` started with, NUL-separated; empty if unreadable."""
    environ = portable.variables(pid) or {}
    return b"".join(os.fsencode(f"{name}={value}\0") for name, value in environ.items())


def open_files(pid: int) -> list[str]:
    """Return the paths of the regular files that `pid` has open, as far as they can be seen."""
    return unless_gone([], lambda: [file.path for file in psutil.Process(pid).open_files()])


def _look_at(process: psutil.Process) -> Stat:
    with process.oneshot():
        return Stat(
            state=_STATES.get(process.status(), "R"),
            parent=process.ppid(),
            group=os.getpgid(process.pid),
            session=os.getsid(process.pid),
            start_ticks=started(process),
        )
