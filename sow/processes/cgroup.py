"""Groups of processes that the kernel keeps: who was born into one is in it, whatever it changes.

Owns the folders that sow makes in Linux's cgroup tree (cgroups(7), version 2):
one for each supervisor, which enters it before it has its orders, so that its
agent and all that this starts are born there. They survive the supervisor, a
double fork and a cleared environment. Nothing is limited by them and no
controller is used. Where no folder can be made (the tree is not ours), there
is none, and nothing is said. Light: the supervisor runs on it.
"""

import os

AT_ONCE = 8192
PREFIX = "sow-"
"""What our folders' names begin with; a worker below an agent makes none inside of that agent's."""


def enter(name: str) -> str:
    """Make a group and enter it with all threads; return its folder, or nothing."""
    home = own_home()
    if not home:
        return ""
    folder = f"{home}/{PREFIX}{name}"
    try:
        os.mkdir(folder)  # noqa: PTH102 - no pathlib here
        _move_to(folder)
    except OSError:
        remove(folder)
        return ""
    return folder


def leave() -> None:
    """Go back to where our groups lie, if we were born into one of them."""
    home = own_home()
    try:
        if home and home != _own_folder():
            _move_to(home)
    except OSError:
        return  # it is spared by its lock all the same


def own_home() -> str:
    """Return the folder in which groups of ours are made: our own, outside of all such groups."""
    folder = _own_folder()
    head, found, _ = folder.partition(f"/{PREFIX}")
    return head if found else folder


def folder_of(name: str) -> str:
    """Return where the group of this name lies if its maker and we have the same home."""
    home = own_home()
    return f"{home}/{PREFIX}{name}" if home else ""


def members(folder: str) -> list[int]:
    """Return the processes in a group and in those that were made inside of it."""
    pids: list[int] = []
    for inner, _, names in os.walk(folder):
        if "cgroup.procs" in names:
            pids += [int(pid) for pid in _read(f"{inner}/cgroup.procs").split() if pid != "0"]
    return pids


def remove(folder: str) -> None:
    """Remove a group; one that still has members stays."""
    try:
        os.rmdir(folder)  # noqa: PTH106
    except OSError:
        return


def sweep() -> None:
    """Remove the empty groups that killed supervisors have left beside us."""
    home = own_home()
    try:
        names = os.listdir(home) if home else []  # noqa: PTH208
    except OSError:
        return
    for name in names:
        if name.startswith(PREFIX):
            remove(f"{home}/{name}")


def _own_folder() -> str:
    """Return the folder of the group that we are in; empty where there is none to be seen."""
    for line in _read("/proc/self/cgroup").splitlines():
        if line.startswith("0::/") and "/.." not in line:
            mount = _mount_point()
            return (mount + line[3:]).rstrip("/") if mount else ""
    return ""


_mount: str | None = None


def _mount_point() -> str:
    """Return where the whole tree of version 2 is mounted; found once, by a fork server for all."""
    global _mount  # noqa: PLW0603
    if _mount is None:
        _mount = _found_mount_point()
    return _mount


def _found_mount_point() -> str:
    """Look for the mount (proc_pid_mountinfo(5))."""
    for line in _read("/proc/self/mountinfo").splitlines():
        fields, _, kind = line.partition(" - ")
        words = fields.split()
        if kind.startswith("cgroup2 ") and words[3] == "/":
            return words[4]
    return ""


def _move_to(folder: str) -> None:
    fd = os.open(f"{folder}/cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, b"0")
    finally:
        os.close(fd)


def _read(path: str) -> str:
    data = b""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        while part := os.read(descriptor, AT_ONCE):
            data += part
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    return data.decode("utf-8", "replace")
