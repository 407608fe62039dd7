"""The portable back end: identities and lives by psutil, for systems without /proc."""

import psutil

from sow.processes.life import Life
from sow.schema.job import ProcessIdentity


def _started(process: psutil.Process) -> str:
    return f"{process.create_time():.6f}"


def identify(pid: int) -> ProcessIdentity | None:
    """Return the identity of `pid`, or None when there is no such process."""
    try:
        return ProcessIdentity(pid=pid, start_ticks=_started(psutil.Process(pid)))
    except psutil.NoSuchProcess:
        return None


def life_of(identity: ProcessIdentity) -> Life:
    """Tell whether the process that was identified so still runs."""
    try:
        process = psutil.Process(identity.pid)
        if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            return Life.DEAD
        return Life.ALIVE if _started(process) == identity.start_ticks else Life.DEAD
    except psutil.NoSuchProcess:
        return Life.DEAD


def tree_cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process and all below it have used, of those that run now."""
    try:
        root = psutil.Process(pid)
        family = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0.0
    return sum(_cpu_seconds(process) for process in family)


def _cpu_seconds(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0.0
    return float(times.user + times.system)


def carriers(name: str, value: str) -> list[int]:
    """Return the pids of processes that started with `name` set to `value`.

    A process whose environment may not be read is left out.
    """
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(name) == value:
                found.append(process.pid)
        except (psutil.NoSuchProcess, psutil.AccessDenied, OSError):
            continue
    return found
