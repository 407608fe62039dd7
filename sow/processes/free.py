"""How much disk space and memory is free: what another program may still take.

Owns what counts as free. Of memory that is what the kernel calls available
(proc_meminfo(5)), or what the control groups above us leave of their limits
where that is less: there, like the kernel, we count the cache of files as free
(cgroups(7), both versions). Where nobody can tell, the answer is None.

A worker asks before each job: no file is read that cannot change the answer.
"""

import os
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from sow.processes import process_facts

PROC = Path("/proc")
AT_ONCE = 1 << 16

LIMITED = {
    "cgroup2": ("memory.max", "memory.current", ("active_file", "inactive_file")),
    "cgroup": (
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        ("total_active_file", "total_inactive_file"),
    ),
}
"""By the type of the tree: the files of a group's limit and use, and what of it is cache."""


LIMIT_SECONDS = 5.0
"""How long a group's limit is remembered. A new one counts after that at the latest."""
NO_LIMIT = 1 << 60
"""More than any machine has: version 1 says the largest number of pages where there is no limit."""


def free_disk(folder: Path) -> int | None:
    """Return the bytes that are free for us where a folder lies, or is to lie; None if unknown."""
    try:
        facts = os.statvfs(folder)
    except FileNotFoundError:
        return free_disk(folder.parent) if folder != folder.parent else None
    except OSError:
        return None
    return facts.f_bavail * facts.f_frsize if facts.f_blocks else None


def free_memory(proc: Path | None = None) -> int | None:
    """Return the bytes of memory that are free for us; None if unknown.

    `proc` is where Linux tells it, if not in /proc.
    """
    if proc is None:
        if not process_facts.is_linux():
            return _portable()
        proc = PROC
    least = _available(proc)
    for kind, folder, limit in _limits(str(proc), time.monotonic() // LIMIT_SECONDS):
        _, use_name, cached = LIMITED[kind]
        use = _number(f"{folder}/{use_name}")
        if use is None:
            continue
        left = max(0, limit - use)
        if least is None or left < least:
            left += _sum(f"{folder}/memory.stat", cached)
            least = left if least is None else min(least, left)
    return least


def _available(proc: Path) -> int | None:
    name = "MemAvailable:"
    _, is_there, rest = _text(f"{proc}/meminfo").partition(name)
    if is_there:
        return int(rest.split(maxsplit=1)[0]) * 1024
    return _portable() if not (proc / "meminfo").exists() else None


def _portable() -> int | None:
    """Return what is free where there is no /proc."""
    # Heavy, and needed on other systems only.
    import psutil

    return int(psutil.virtual_memory().available)


@lru_cache(maxsize=1)
def _limits(proc: str, _when: float) -> tuple[tuple[str, Path, int], ...]:
    """Return the groups that limit our memory, from the innermost outwards.

    Of each: its type, its folder, its limit in bytes. Found anew for another `_when`.
    """
    groups = (
        (kind, folder, _number(f"{folder}/{LIMITED[kind][0]}"))
        for kind, folder in _groups(proc, _text(f"{proc}/self/cgroup"))
    )
    return tuple(
        (kind, folder, limit)
        for kind, folder, limit in groups
        if limit is not None and limit < NO_LIMIT
    )


def _groups(proc: str, own_groups: str) -> Iterator[tuple[str, Path]]:
    """Yield the groups that count our memory, from the innermost outwards: type and folder.

    `own_groups` is what `/proc/self/cgroup` says.
    """
    for kind, mount, own in _trees(proc, own_groups):
        for folder in (own, *own.parents):
            if folder == mount or mount in folder.parents:
                yield kind, folder


def _trees(proc: str, own_groups: str) -> Iterator[tuple[str, Path, Path]]:
    """Yield each tree that counts memory: its type, where it is mounted, our folder in it."""
    paths = dict(_own_paths(own_groups))
    for line in _text(f"{proc}/self/mountinfo").splitlines():
        fields, _, rest = line.partition(" - ")
        kind, _, options = rest.partition(" ")
        controller = {"cgroup2": "", "cgroup": "memory"}.get(kind)
        if controller is None or controller not in paths:
            continue
        if controller and controller not in options.split(" ")[-1].split(","):
            continue
        root, mount = fields.split()[3:5]
        own = os.path.relpath(paths[controller], root)
        yield kind, Path(mount), Path(mount) if own.startswith("..") else Path(mount, own)


def _own_paths(own_groups: str) -> Iterator[tuple[str, str]]:
    """Yield our group's path by controller; under the empty name that of version 2."""
    for line in own_groups.splitlines():
        _, names, path = line.split(":", 2)
        for name in names.split(","):
            yield name, path


def _sum(path: str, names: tuple[str, ...]) -> int:
    found = (line.partition(" ") for line in _text(path).splitlines())
    return sum(int(value) for name, _, value in found if name in names)


def _number(path: str) -> int | None:
    """Return the number in a file; None where there is none, as in `max`."""
    text = _text(path).strip()
    return int(text) if text.isdecimal() else None


def _text(path: str) -> str:
    """Return what a file of the kernel's says; nothing where there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        parts = []
        while part := os.read(descriptor, AT_ONCE):
            parts.append(part)
        return b"".join(parts).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)
