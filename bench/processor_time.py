"""What all processes below this one have taken of the processors, the dead ones included.

A process's time goes to its parent's account when that has waited for it. So the sum over all
that live, each with its account of dead children, misses nothing, if those that lose their
parent become this process's children (PR_SET_CHILD_SUBREAPER, prctl(2)).
"""

import ctypes
import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil

PR_SET_CHILD_SUBREAPER = 36
QUIET_SECONDS = 0.3
DEADLINE_SECONDS = 10.0


@contextmanager
def collecting() -> Iterator[None]:
    """Become the parent of all orphans below; at the end wait for those that have ended."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def spent() -> float:
    """Return the seconds that all below this process have taken, once they take no more.

    Two sums have to be alike, and nobody may want a processor or wait for the disk: on a busy
    machine a process can go without for longer than lies between the two.
    """
    deadline = time.monotonic() + DEADLINE_SECONDS
    before, now = -1.0, _sum()
    while (now != before or _is_any_at_work()) and time.monotonic() < deadline:
        time.sleep(QUIET_SECONDS)
        before, now = now, _sum()
    return now


def own_share(pid: int) -> float:
    """Return the seconds that a process has taken itself, without its children."""
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


def dead_children() -> float:
    """Return the seconds of the children that this process has waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _is_any_at_work() -> bool:
    at_work = {psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP}
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if process.status() in at_work:
                return True
    return False


def _sum() -> float:
    total = dead_children()
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return round(total, 2)
