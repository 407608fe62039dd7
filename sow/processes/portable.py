"""The portable back end: identities and lives by psutil, for systems without /proc."""

import sys
from collections.abc import Callable
from typing import TypeVar

import psutil

from sow.processes import procfs
from sow.processes.life import PORTABLE, Life
from sow.processes.shortage import is_shortage
from sow.schema.job import ProcessIdentity

_SAME_SECONDS = 0.005
"""How far apart two readings of one start may lie: half of Linux's clock tick."""

_BOOT_SECONDS = 1.0
"""How far a clock that is set step by step may move the time of the boot."""


T = TypeVar("T")


def unless_gone(otherwise: T, look: Callable[..., T], *about: object) -> T:
    """Return what a look at a process gives; `otherwise` where it has ended or may not be seen.

    Where we have no descriptor or memory left to look, OSError is raised.
    """
    try:
        return look(*about)
    except psutil.Error:
        return otherwise
    except OSError as error:
        if is_shortage(error):
            raise
        return otherwise


def namespace() -> str:
    """Return where pids mean what they mean here: the system, and on Linux its pid namespace."""
    return f"{PORTABLE}{sys.platform}{procfs.pid_namespace()}"


def machine() -> str:
    """Return the id that the system has for good; empty where none is known."""
    return _hardware_uuid() if sys.platform == "darwin" else procfs.machine_id()


def _hardware_uuid() -> str:
    """Return macOS's own id of the machine (gethostuuid(2))."""
    import ctypes  # heavy, and for macOS alone

    class Timespec(ctypes.Structure):
        _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))

    found = (ctypes.c_ubyte * 16)()
    try:
        failed = ctypes.CDLL(None).gethostuuid(found, ctypes.byref(Timespec(1, 0)))
    except (AttributeError, OSError):
        return ""
    return "" if failed else bytes(found).hex()


def _is_elsewhere(identity: ProcessIdentity) -> bool:
    """Whether a process was seen by another machine that sees the same files."""
    mine = machine()
    return bool(identity.machine and mine) and identity.machine != mine


def started(process: psutil.Process) -> str:
    """Return when a process started, in seconds since 1970."""
    return f"{process.create_time():.6f}"


def identify(pid: int) -> ProcessIdentity | None:
    """Return the identity of `pid`, or None when there is no such process."""
    try:
        booted = psutil.boot_time()
        return ProcessIdentity(
            pid=pid,
            start_ticks=started(psutil.Process(pid)),
            boot_id=f"{booted:.6f}",
            pid_namespace=namespace(),
            machine=machine(),
        )
    except psutil.NoSuchProcess:
        return None


def life_of(identity: ProcessIdentity) -> Life:
    """Tell whether the process that was identified so still runs.

    One that another system saw (a container's host, say) means nothing here.
    """
    if identity.pid_namespace != namespace() or _is_elsewhere(identity):
        return Life.UNVERIFIABLE
    try:
        process = psutil.Process(identity.pid)
        if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            return Life.DEAD
        booted, start = psutil.boot_time(), process.create_time()
    except psutil.NoSuchProcess:
        return Life.DEAD
    return Life.ALIVE if _is_same_start(identity, start, booted) else Life.DEAD


def is_open_somewhere(path: str) -> bool:  # noqa: ARG001
    """Whether any process has a file open: nobody can tell at a reasonable price."""
    return True


def is_stopped(pid: int) -> bool:
    """Whether a process is stopped."""
    try:
        status = psutil.Process(pid).status()
    except psutil.NoSuchProcess:
        return False
    return status in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)


def _is_same_start(identity: ProcessIdentity, start: float, booted: float) -> bool:
    """Compare starts; when the clock is set, some systems move them, always with the boot."""
    start_then, booted_then = float(identity.start_ticks), float(identity.boot_id)
    moved = start - start_then
    return min(abs(moved), abs(moved - (booted - booted_then))) < _SAME_SECONDS


def is_of_another_boot(identity: ProcessIdentity) -> bool:
    """Whether the process was identified before this boot.

    It was, if that boot came after the process had started. A clock that was set forward
    since looks the same.
    """
    if identity.pid_namespace != namespace() or _is_elsewhere(identity):
        return False
    return psutil.boot_time() > float(identity.start_ticks) + _BOOT_SECONDS


def tree_cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process and all below it have used, of those that run now."""
    try:
        root = psutil.Process(pid)
        family = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0.0
    return sum(unless_gone(0.0, _cpu_seconds, process) for process in family)


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def carriers(name: str, *values: str, since: float | None = None) -> list[int]:  # noqa: ARG001
    """Return the pids of processes that started with `name` set to one of `values`.

    Without `values`, to anything. A process whose environment may not be read is left out.
    """
    nothing: dict[str, str] = {}
    found = {
        process.pid: unless_gone(nothing, process.environ).get(name)
        for process in psutil.process_iter()
    }
    return [
        pid for pid, value in found.items() if value is not None and value in (values or (value,))
    ]


def ancestors(pid: int) -> list[int]:
    """Return the pids above a process, its parent first."""
    return unless_gone([], lambda: [each.pid for each in psutil.Process(pid).parents()])


def variables(pid: int) -> dict[str, str] | None:
    """Return the environment that `pid` started with; None where it may not be read."""
    nothing: dict[str, str] = {}
    return unless_gone(nothing, lambda: psutil.Process(pid).environ()) or None
