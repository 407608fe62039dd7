"""How much disk space and memory is free: what another program may still take.

Owns what counts as free. Of memory that is what the kernel calls available
(proc_meminfo(5)), or what the control groups above us leave of their limits
where that is less: there, like the kernel, we count the cache of files as free
(cgroups(7), both versions). Where nobody can tell, the answer is None.
"""

import os
from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")

LIMITED = {
    "cgroup2": ("memory.max", "memory.current", ("active_file", "inactive_file")),
    "cgroup": (
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        ("total_active_file", "total_inactive_file"),
    ),
}
"""By the type of the tree: the files of a group's limit and use, and what of it is cache."""


def free_disk(folder: Path) -> int | None:
    """Return the bytes that are free for us where a folder lies, or is to lie; None if unknown."""
    for place in (folder, *folder.parents):
        try:
            facts = os.statvfs(place)
        except FileNotFoundError:
            continue
        except OSError:
            return None
        return facts.f_bavail * facts.f_frsize if facts.f_blocks else None
    return None


def free_memory(proc: Path = PROC) -> int | None:
    """Return the bytes of memory that are free for us; None if unknown."""
    left = [_available(proc), *_left_by_groups(proc)]
    return min((size for size in left if size is not None), default=None)


def _available(proc: Path) -> int | None:
    for line in _lines(proc / "meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return _portable() if not (proc / "meminfo").exists() else None


def _portable() -> int | None:
    """Return what is free where there is no /proc."""
    # Heavy, and needed on other systems only.
    import psutil

    return int(psutil.virtual_memory().available)


def _left_by_groups(proc: Path) -> Iterator[int]:
    """Yield what each group that we are in, and each above it, leaves of its limit."""
    for kind, mount, folder in _groups(proc):
        limit_name, use_name, cached = LIMITED[kind]
        while folder == mount or mount in folder.parents:
            limit, use = _number(folder / limit_name), _number(folder / use_name)
            if limit is not None and use is not None:
                yield max(0, limit - use + _sum(folder / "memory.stat", cached))
            folder = folder.parent  # noqa: PLW2901 - from the innermost group outwards


def _groups(proc: Path) -> Iterator[tuple[str, Path, Path]]:
    """Yield each tree that counts memory: its type, where it is mounted, our folder in it."""
    paths = dict(_own_paths(proc))
    for line in _lines(proc / "self/mountinfo"):
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


def _own_paths(proc: Path) -> Iterator[tuple[str, str]]:
    """Yield our group's path by controller; under the empty name that of version 2."""
    for line in _lines(proc / "self/cgroup"):
        _, names, path = line.split(":", 2)
        for name in names.split(","):
            yield name, path


def _sum(path: Path, names: tuple[str, ...]) -> int:
    found = (line.partition(" ") for line in _lines(path))
    return sum(int(value) for name, _, value in found if name in names)


def _number(path: Path) -> int | None:
    """Return the number in a file; None where there is none, as in `max`."""
    text = "".join(_lines(path)).strip()
    return int(text) if text.isdecimal() else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
