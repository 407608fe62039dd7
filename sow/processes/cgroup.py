"""Groups of processes that the kernel keeps: who was born into one is in it, whatever it changes.

Owns the folders that sow makes in Linux's cgroup tree (cgroups(7), version 2):
one for each supervisor, which enters it before it has its orders, so that its
agent and all that this starts are born there. They survive the supervisor, a
double fork and a cleared environment. Nothing is limited by them here: that is
`cgroup_limits`. Where no folder can be made (the tree is not ours), there
is none, and nothing is said. Light: the supervisor runs on it.
"""

import errno
import os

AT_ONCE = 8192
PREFIX = "sow-"
"""What our folders' names begin with; a worker below an agent makes none inside of that agent's.
The name of an attempt's goes on with two numbers: a service of ours begins likewise."""
REST, GIVEN = f"{PREFIX}rest", f"{PREFIX}worker"
"""The groups of what is ours and no attempt's, where none may be in the home itself: as soon as its
groups are limited by the kernel (cgroups(7), no internal processes). The second is made by systemd
for a worker, where its unit says so (docs/howto/workers.md)."""
SUPERVISOR, AGENT = "supervisor", "agent"
"""The groups inside of an attempt's that has limits (`cgroup_limits`)."""


def enter(name: str) -> str:
    """Make a group and enter it with all threads; return its folder, or nothing."""
    home = own_home()
    if not home:
        return ""
    folder = f"{home}/{PREFIX}{name}"
    try:
        os.mkdir(folder)  # noqa: PTH102 - no pathlib here
        move_to(folder)
    except OSError:
        remove(folder)
        return ""
    return folder


def leave() -> None:
    """Go back to where our groups lie, if we were born into that of an attempt."""
    folder = _folder_of("self")
    home = home_above(folder)
    if not home or home == folder or _name_below(home, folder) in (REST, GIVEN):
        return
    try:
        move_to(home)
    except OSError as error:
        if error.errno == errno.EBUSY:
            _try_to_join(f"{home}/{REST}")
        # Else it is spared by its lock all the same.


def _try_to_join(folder: str) -> None:
    try:
        join(folder)
    except OSError:
        return


def join(folder: str, pid: int = 0) -> None:
    """Move a process, or us, into a group that is made where it is not there. Raises OSError."""
    make(folder)
    move_to(folder, pid)


def make(folder: str) -> None:
    """Make a group where it is not there. Raises OSError."""
    try:  # noqa: SIM105 - no contextlib here
        os.mkdir(folder)  # noqa: PTH102
    except FileExistsError:
        pass


def own_home() -> str:
    """Return the folder in which groups of ours are made: our own, outside of all such groups."""
    return home_of("self")


def home_of(process: int | str) -> str:
    """Return the same of another process, by its pid."""
    return home_above(_folder_of(process))


def home_above(folder: str) -> str:
    """Return a group's folder without what is ours of it."""
    parts = folder.split("/")
    ours = next((place for place, part in enumerate(parts) if _is_ours(part)), len(parts))
    return "/".join(parts[:ours])


def _name_below(home: str, folder: str) -> str:
    return folder[len(home) + 1 :].partition("/")[0]


def _is_ours(name: str) -> bool:
    """Whether a group of this name is one that we make, or that is made for a worker."""
    if name in (REST, GIVEN):
        return True
    first, _, second = name.removeprefix(PREFIX).partition("-")
    return name.startswith(PREFIX) and first.isdigit() and second.isdigit()


def folder_of(name: str) -> str:
    """Return where the group of this name lies if its maker and we have the same home."""
    home = own_home()
    return f"{home}/{PREFIX}{name}" if home else ""


def members(folder: str) -> list[int]:
    """Return the processes in a group and in those that were made inside of it."""
    pids: list[int] = []
    for inner, _, names in os.walk(folder):
        if "cgroup.procs" in names:
            pids += processes_in(inner)
    return pids


def processes_in(folder: str) -> list[int]:
    """Return the processes in a group itself; none where it is gone."""
    return [int(pid) for pid in read(f"{folder}/cgroup.procs").split() if pid != "0"]


def remove(folder: str) -> None:
    """Remove a group with all that was made in it; one that still has members stays."""
    if _is_removed(folder) or members(folder) or not _is_removed(f"{folder}/{SUPERVISOR}"):
        return
    for inner, _, _ in os.walk(folder, topdown=False):
        _is_removed(inner)


def _is_removed(folder: str) -> bool:
    """Remove a folder; return whether it is not there any more."""
    try:
        os.rmdir(folder)  # noqa: PTH106
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def sweep() -> None:
    """Remove the empty groups that killed supervisors have left beside us."""
    home = own_home()
    try:
        names = os.listdir(home) if home else []  # noqa: PTH208
    except OSError:
        return
    for name in names:
        if _is_ours(name):
            remove(f"{home}/{name}")


def _folder_of(process: int | str) -> str:
    """Return the folder of the group that a process is in; empty where there is none to be seen."""
    for line in read(f"/proc/{process}/cgroup").splitlines():
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
    for line in read("/proc/self/mountinfo").splitlines():
        fields, _, kind = line.partition(" - ")
        words = fields.split()
        if kind.startswith("cgroup2 ") and words[3] == "/":
            return words[4]
    return ""


def move_to(folder: str, pid: int = 0) -> None:
    """Move a process, or us, into a group. Raises OSError."""
    write(f"{folder}/cgroup.procs", str(pid))


def write(path: str, text: str) -> None:
    """Write into a file of a group. Raises OSError."""
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def read(path: str) -> str:
    """Return what a file of the kernel's says; nothing where it cannot be read."""
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
