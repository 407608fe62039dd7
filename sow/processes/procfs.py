"""Raw facts of processes, read from Linux's /proc.

Owns the parsing; every function tells "gone" by an empty answer and never
raises for a process that ends while it is looked at. Where we have no
descriptor or memory left to look, OSError is raised. Imports only the standard
library's lightest modules: the supervisor, which must start fast, runs on it.
Format of /proc/PID/stat: proc_pid_stat(5).
"""

import os
import time

from sow.processes.shortage import is_shortage
from sow.processes.stat import Stat, below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MACHINE_ID_LENGTH = 32
AT_ONCE = 1 << 16


def _read(path: str, *, ends_short: bool = False) -> bytes:
    """Return what a file says. `ends_short`: what the kernel gives of it is short at its end only.

    So is an environment (environ_read in fs/proc/base.c), and what is made in one piece
    (single_open in fs/seq_file.c), but no file that is made line by line.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        if is_shortage(error):
            raise
        return b""
    try:
        parts: list[bytes] = []
        while part := os.read(fd, AT_ONCE):
            if ends_short and len(part) < AT_ONCE and not parts:
                return part
            parts.append(part)
            if ends_short and len(part) < AT_ONCE:
                break
        return b"".join(parts)
    except OSError as error:
        if is_shortage(error):
            raise
        return b""
    finally:
        os.close(fd)


def stat_fields(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the third on; none when there is no such process."""
    text = _read(f"/proc/{pid}/stat", ends_short=True).decode("utf-8", "replace")
    return text[text.rindex(")") + 2 :].split() if text else []


def proportional_bytes(pid: int) -> int | None:
    """Return the memory of a process, with its share of what others have too (Pss).

    None where that may not be read (proc_pid_smaps(5)).
    """
    for line in _read(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * 1024
    return None


def read_stat(pid: int) -> Stat | None:
    """Return the facts of `pid`, or None when there is no such process."""
    fields = stat_fields(pid)
    if not fields:
        return None
    return Stat(
        state=fields[0],
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        start_ticks=fields[19],
        cpu_ticks=int(fields[11]) + int(fields[12]),
    )


def is_running(pid: int, start_ticks: str) -> bool:
    """Whether the very process that had these start ticks still runs (a zombie does not)."""
    stat = read_stat(pid)
    return stat is not None and stat.start_ticks == start_ticks and not stat.is_dead


_lasting: dict[str, str] = {}
"""What stays the same as long as this process lives."""


def _once(name: str, find: "Callable[[], str]") -> str:
    """Return what was found under a name before; else find it."""
    if not (found := _lasting.get(name, "")):
        found = _lasting[name] = find()
    return found


def boot_id() -> str:
    """Return the kernel's id of this boot."""
    path = "/proc/sys/kernel/random/boot_id"
    return _once(path, lambda: _read(path).decode().strip())


def machine_id() -> str:
    """Return the id that this installation of a system has for good (machine-id(5)); or nothing."""
    return _once("machine-id", _machine_id)


def _machine_id() -> str:
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        text = _read(path).decode("ascii", "replace").strip()
        if len(text) == MACHINE_ID_LENGTH:  # else it says "uninitialized"
            return text
    return ""


def pid_namespace() -> str:
    """Return the inode of this process's pid namespace."""
    path = "/proc/self/ns/pid"
    return _once(path, lambda: _link(path).strip("pid:[]"))


def all_pids() -> list[int]:
    """Return every pid that /proc shows."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - speed


_seen: dict[str, dict[str, tuple[int, float]]] = {}
"""By the folder that shows them: the processes of the last look, each by its pid, with the inode of
its folder, and when it had been seen at first, on the monotonic clock."""


def pids_since(moment: float, proc: str = "/proc") -> list[int]:
    """Return every pid but those of processes that an earlier look of this kind saw before then.

    `moment` is on the monotonic clock. The kernel gives the folder of each process a number of its
    own (get_next_ino, called in fs/proc/base.c): another one with the same pid is not left out.
    """
    before = _seen.get(proc, {})
    with os.scandir(proc) as entries:
        found = [(entry.name, entry.inode()) for entry in entries if entry.name.isdigit()]
    now = time.monotonic()
    seen = {}
    for name, inode in found:
        known = before.get(name)
        seen[name] = known if known is not None and known[0] == inode else (inode, now)
    _seen[proc] = seen
    return [int(name) for name, (_, first) in seen.items() if first >= moment]


def variables(pid: int) -> bytes:
    """Return the environment that `pid` started with, NUL-separated; empty if unreadable."""
    return _read(f"/proc/{pid}/environ", ends_short=True)


def environment_bounds() -> tuple[int, int] | None:
    """Return where in our memory lies what `variables` reads of us, if that can be told."""
    text = _read("/proc/self/stat").decode("utf-8", "replace")
    if not text:
        return None
    fields = text[text.rindex(")") + 2 :].split()
    start, end = int(fields[47]), int(fields[48])
    return (start, end) if start < end else None


def carries(pid: int, name: str, value: str) -> bool:
    """Whether `pid` started with the variable `name` set to `value`."""
    return _assigned(name, value) in b"\0" + variables(pid)


def carriers(name: str, *values: str, since: float | None = None) -> list[int]:
    """Return the pids of running processes that started with `name` set to one of `values`.

    Without `values`, to anything. What is known to have run before `since`, on the monotonic
    clock, is left out.
    """
    named = f"{name}=".encode()
    assigned = [_assigned(name, value) for value in values] or [b"\0" + named]
    found = []
    for pid in all_pids() if since is None else pids_since(since):
        environ = variables(pid)
        if named not in environ:
            continue
        environ = b"\0" + environ
        if any(each in environ for each in assigned):
            stat = read_stat(pid)
            if stat is not None and not stat.is_dead:
                found.append(pid)
    return found


def _assigned(name: str, value: str) -> bytes:
    return f"\0{name}={value}\0".encode()


def open_files(pid: int) -> list[str]:
    """Return the paths of what `pid` has open; of sockets and pipes, what the kernel calls them."""
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)  # noqa: PTH208 - speed
    except OSError as error:
        if is_shortage(error):
            raise
        return []
    return [path for name in names if (path := _link(f"{folder}/{name}"))]


def holds_lock(pid: int, path: str) -> bool:
    """Whether `pid` holds an exclusive lock on a file; `path` is its real one."""
    try:
        names = os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208 - speed
    except OSError as error:
        if is_shortage(error):
            raise
        return False
    return any(
        _link(f"/proc/{pid}/fd/{name}") == path and _is_locked(f"/proc/{pid}/fdinfo/{name}")
        for name in names
    )


def _is_locked(path: str) -> bool:
    lines = _read(path).decode().splitlines()
    return any(line.startswith("lock:") and " WRITE " in line for line in lines)


def _link(path: str) -> str:
    try:
        return os.readlink(path)  # noqa: PTH115 - no pathlib here
    except OSError:
        return ""


def processes() -> dict[int, Stat]:
    """Return every process with its facts, from one look at /proc."""
    stats = ((pid, read_stat(pid)) for pid in all_pids())
    return {pid: stat for pid, stat in stats if stat is not None}


def descendants(root: int) -> dict[int, Stat]:
    """Return everything below `root` (not itself) with its facts, from one look at /proc."""
    return below(processes(), [root])
