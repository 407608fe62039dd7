"""Raw facts of processes, read from Linux's /proc.

Owns the parsing; every function tells "gone" by an empty answer and never
raises for a process that ends while it is looked at. Imports only the standard
library's lightest modules: the supervisor, which must start fast, runs on it.
Format of /proc/PID/stat: proc_pid_stat(5).
"""

import os


class Stat:
    """The few fields of /proc/PID/stat that sow uses.

    `state` is one letter; Z and X are dead. `start_ticks`, the clock ticks from
    boot to the process's start, makes an identity together with the pid.
    `cpu_ticks` is the user and system time spent, in clock ticks. (No
    NamedTuple: importing typing takes a third of the time until the agent runs.)
    """

    __slots__ = ("cpu_ticks", "parent", "session", "start_ticks", "state")

    def __init__(
        self, state: str, parent: int, session: int, start_ticks: str, cpu_ticks: int
    ) -> None:
        self.state = state
        self.parent = parent
        self.session = session
        self.start_ticks = start_ticks
        self.cpu_ticks = cpu_ticks


def _read(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        parts = []
        while part := os.read(fd, 65536):
            parts.append(part)
        return b"".join(parts)
    except OSError:
        return b""
    finally:
        os.close(fd)


def read_stat(pid: int) -> Stat | None:
    """Return the facts of `pid`, or None when there is no such process."""
    text = _read(f"/proc/{pid}/stat").decode("utf-8", "replace")
    if not text:
        return None
    fields = text[text.rindex(")") + 2 :].split()
    return Stat(
        fields[0], int(fields[1]), int(fields[3]), fields[19], int(fields[11]) + int(fields[12])
    )


def is_running(pid: int, start_ticks: str) -> bool:
    """Whether the very process that had these start ticks still runs (a zombie does not)."""
    stat = read_stat(pid)
    return stat is not None and stat.start_ticks == start_ticks and stat.state not in "ZX"


def boot_id() -> str:
    """Return the kernel's id of this boot."""
    return _read("/proc/sys/kernel/random/boot_id").decode().strip()


def pid_namespace() -> str:
    """Return the inode of this process's pid namespace."""
    try:
        return os.readlink("/proc/self/ns/pid").strip("pid:[]")  # noqa: PTH115 - no pathlib here
    except OSError:
        return ""


def all_pids() -> list[int]:
    """Return every pid that /proc shows."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - speed


def variables(pid: int) -> bytes:
    """Return the environment that `pid` started with, NUL-separated; empty if unreadable."""
    return _read(f"/proc/{pid}/environ")


def carries(pid: int, name: str, value: str) -> bool:
    """Whether `pid` started with the variable `name` set to `value`."""
    return f"\0{name}={value}\0".encode() in b"\0" + variables(pid)


def carriers(name: str, value: str) -> list[int]:
    """Return the pids of running processes that started with `name` set to `value`."""
    return [
        pid
        for pid in all_pids()
        if carries(pid, name, value) and (stat := read_stat(pid)) and stat.state not in "ZX"
    ]


def descendants(root: int) -> dict[int, Stat]:
    """Return everything below `root` (not itself) with its facts, from one look at /proc."""
    children: dict[int, list[int]] = {}
    stats: dict[int, Stat] = {}
    for pid in all_pids():
        stat = read_stat(pid)
        if stat is not None:
            stats[pid] = stat
            children.setdefault(stat.parent, []).append(pid)
    found: dict[int, Stat] = {}
    waiting = list(children.get(root, ()))
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found[pid] = stats[pid]
            waiting.extend(children.get(pid, ()))
    return found
