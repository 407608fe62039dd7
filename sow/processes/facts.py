"""Process facts behind one door: who a process is, whether it lives, what carries a marker.

Owns the choice of back end: Linux reads /proc, elsewhere psutil is asked.
`SOW_PROCESSES=portable` chooses the portable one on Linux too, for its tests.
Knows nothing of jobs, leases or signals.
"""

import os
import sys
from types import ModuleType

from sow.processes.life import Life
from sow.schema.job import ProcessIdentity

__all__ = ["Life", "carriers", "identify", "life_of", "tree_cpu_seconds"]


def _backend() -> ModuleType:
    if sys.platform == "linux" and os.environ.get("SOW_PROCESSES") != "portable":
        from sow.processes import linux

        return linux
    from sow.processes import portable

    return portable


def identify(pid: int) -> ProcessIdentity | None:
    """Return the identity of `pid`, or None when there is no such process."""
    identity: ProcessIdentity | None = _backend().identify(pid)
    return identity


def life_of(identity: ProcessIdentity) -> Life:
    """Tell whether the process that was identified so still runs."""
    life: Life = _backend().life_of(identity)
    return life


def tree_cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process and all below it have used, of those that run now."""
    seconds: float = _backend().tree_cpu_seconds(pid)
    return seconds


def carriers(name: str, value: str) -> list[int]:
    """Return the pids of running processes that started with `name` set to `value`."""
    pids: list[int] = _backend().carriers(name, value)
    return pids
