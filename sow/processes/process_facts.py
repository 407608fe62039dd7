"""Process facts behind one door: who a process is, whether it lives, what carries a marker.

Owns the choice of back end: Linux reads /proc, elsewhere psutil is asked.
`SOW_PROCESSES=portable` chooses the portable one on Linux too, for its tests.
An identity is judged by the back end that made it, so processes that use
different ones never take each other for dead. Knows nothing of jobs, leases or
signals. Imports a back end when it is asked: the other one may not exist here.
"""

import os
import sys
from pathlib import Path
from types import ModuleType

from sow import env_vars
from sow.processes.life import PORTABLE, Life
from sow.schema.job import ProcessIdentity


def is_linux() -> bool:
    """Whether Linux itself is asked for facts of processes, and not the portable back end."""
    return sys.platform == "linux" and os.environ.get(env_vars.PROCESSES) != "portable"


def _backend() -> ModuleType:
    if is_linux():
        from sow.processes import linux

        return linux
    from sow.processes import portable

    return portable


def identify(pid: int) -> ProcessIdentity | None:
    """Return the identity of `pid`, or None when there is no such process."""
    identity: ProcessIdentity | None = _backend().identify(pid)
    return identity


def life_of(identity: ProcessIdentity, folder: Path | None = None) -> Life:
    """Tell whether the process that was identified so still runs.

    `folder` is one that it worked in, for what was seen before this boot: on a
    disk that only this machine has, nothing of an earlier boot can be alive.
    """
    if identity.pid_namespace.startswith(PORTABLE):
        from sow.processes import portable

        return portable.life_of(identity)
    if sys.platform != "linux":
        return Life.UNVERIFIABLE  # a Linux saw it, in a container over this folder perhaps
    from sow.processes import linux

    return linux.life_of(identity, folder)


def age_seconds(identity: ProcessIdentity) -> float | None:
    """Return how long ago a process of this boot began, whatever the clock; None if unknown."""
    if sys.platform != "linux" or identity.pid_namespace.startswith(PORTABLE):
        return None
    from sow.processes import linux

    return linux.age_seconds(identity)


def is_of_another_boot(identity: ProcessIdentity, folder: Path | None = None) -> bool:
    """Whether the machine was started anew since the process was identified; False if unknown.

    `folder` is as for `life_of`.
    """
    if identity.pid_namespace.startswith(PORTABLE):
        from sow.processes import portable

        return portable.is_of_another_boot(identity)
    if sys.platform != "linux":
        return False
    from sow.processes import linux

    return linux.is_of_another_boot(identity, folder)


def is_stopped(identity: ProcessIdentity) -> bool:
    """Whether a process that lives here was stopped, by SIGSTOP say, and does nothing now."""
    if life_of(identity) is not Life.ALIVE:
        return False
    stopped: bool = _backend().is_stopped(identity.pid)
    return stopped


def goes_on(identity: ProcessIdentity) -> bool:
    """Whether a process lives here, and was not stopped."""
    if sys.platform == "linux" and not identity.pid_namespace.startswith(PORTABLE):
        from sow.processes import linux

        return linux.goes_on(identity)  # by one look
    return life_of(identity) is Life.ALIVE and not is_stopped(identity)


def tree_cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process and all below it have used, of those that run now."""
    seconds: float = _backend().tree_cpu_seconds(pid)
    return seconds


def carriers(name: str, *values: str, since: float | None = None) -> list[int]:
    """Return the pids of running processes that started with `name` set to one of `values`.

    Without `values`, to anything. With `since`, a moment on the monotonic clock before which
    nothing could have one of them, what is known to have run before it need not be looked at.
    """
    pids: list[int] = _backend().carriers(name, *values, since=since)
    return pids


def is_open_somewhere(path: str) -> bool:
    """Whether any process that may be looked into has a file open; true where nobody can tell."""
    found: bool = _backend().is_open_somewhere(path)
    return found


def tree() -> ModuleType:
    """Return the module that shows a process tree to whoever is to end it."""
    if is_linux():
        from sow.processes import tree_linux

        return tree_linux
    from sow.processes import tree_portable

    return tree_portable


def packages() -> Path | None:
    """Return the folder of the packages that `tree()` needs; None where it needs none."""
    if is_linux():
        return None
    import psutil

    return Path(psutil.__file__).parents[1]


def variables(pid: int) -> dict[str, str] | None:
    """Return the environment that `pid` started with; None where it may not be read."""
    found: dict[str, str] | None = _backend().variables(pid)
    return found


def ancestors(pid: int) -> list[int]:
    """Return the pids of the processes above `pid`, its parent first, as far as can be seen."""
    found: list[int] = _backend().ancestors(pid)
    return found
