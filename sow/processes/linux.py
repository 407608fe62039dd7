"""The Linux back end: identities and lives from /proc."""

import os
import time
from pathlib import Path

from sow.processes import procfs
from sow.processes.disks import is_local
from sow.processes.life import Life
from sow.schema.job import ProcessIdentity

carriers = procfs.carriers


def identify(pid: int) -> ProcessIdentity | None:
    """Return the identity of `pid`, or None when there is no such process."""
    stat = procfs.read_stat(pid)
    if stat is None:
        return None
    return ProcessIdentity(
        pid=pid,
        start_ticks=stat.start_ticks,
        boot_id=procfs.boot_id(),
        pid_namespace=procfs.pid_namespace(),
        machine=procfs.machine_id(),
    )


def is_stopped(pid: int) -> bool:
    """Whether a process is stopped."""
    stat = procfs.read_stat(pid)
    return stat is not None and stat.is_stopped


def goes_on(identity: ProcessIdentity) -> bool:
    """Whether a process of this boot and pid namespace lives, and was not stopped."""
    here = (procfs.boot_id(), procfs.pid_namespace())
    if (identity.boot_id, identity.pid_namespace) != here:
        return False
    stat = procfs.read_stat(identity.pid)
    if stat is None or stat.start_ticks != identity.start_ticks:
        return False
    return not (stat.is_dead or stat.is_stopped)


def variables(pid: int) -> dict[str, str] | None:
    """Return the environment that `pid` started with; None where it may not be read."""
    entries = procfs.variables(pid).decode("utf-8", "surrogateescape").split("\0")
    found = dict(entry.split("=", 1) for entry in entries if "=" in entry)
    return found or None


def ancestors(pid: int) -> list[int]:
    """Return the pids above a process, its parent first."""
    found: list[int] = []
    stat = procfs.read_stat(pid)
    while stat is not None and stat.parent > 0 and stat.parent not in found:
        found.append(stat.parent)
        stat = procfs.read_stat(stat.parent)
    return found


def is_open_somewhere(path: str) -> bool:
    """Whether any process that may be looked into has a file open."""
    real = os.path.realpath(path)
    return any(real in procfs.open_files(pid) for pid in procfs.all_pids())


def tree_cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process and all below it have used, of those that run now."""
    own = procfs.read_stat(pid)
    ticks = sum(stat.cpu_ticks for stat in procfs.descendants(pid).values())
    return (ticks + (own.cpu_ticks if own else 0)) / os.sysconf("SC_CLK_TCK")


def life_of(identity: ProcessIdentity, folder: Path | None = None) -> Life:
    """Tell whether the process that was identified so still runs.

    Another boot of this machine has ended it: its machine was ours, or, where
    that was not written down, it worked in a `folder` on a disk that only this
    machine has. In another pid namespace its pid means nothing here.
    """
    if identity.boot_id != procfs.boot_id():
        return Life.DEAD if _was_here(identity, folder) else Life.UNVERIFIABLE
    if identity.pid_namespace != procfs.pid_namespace():
        return Life.UNVERIFIABLE
    alive = procfs.is_running(identity.pid, identity.start_ticks)
    return Life.ALIVE if alive else Life.DEAD


def is_of_another_boot(identity: ProcessIdentity, folder: Path | None = None) -> bool:
    """Whether the process was identified before this boot of this very machine."""
    return identity.boot_id != procfs.boot_id() and _was_here(identity, folder)


def age_seconds(identity: ProcessIdentity) -> float | None:
    """Return how long ago a process of this boot began, dead or not; None for any other."""
    if identity.boot_id != procfs.boot_id():
        return None
    began = int(identity.start_ticks) / os.sysconf("SC_CLK_TCK")
    return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - began)


def _was_here(identity: ProcessIdentity, folder: Path | None) -> bool:
    """Whether a process of another boot ran on this machine, as far as anybody can know."""
    machine = procfs.machine_id()
    if identity.machine and machine:
        return identity.machine == machine
    return folder is not None and is_local(folder)
