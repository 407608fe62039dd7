"""What a process sees in its sandbox, as a value, and the argv of bubblewrap that makes it so.

Owns the order of the mounts and the flags. Pure. The whole file system is there and read-only;
a view names what is hidden of it, and what of the hidden part is there all the same. A folder
inside of another one is mounted after it, so the innermost word about a path counts.

Measured with bubblewrap 0.8.0:

- A tmpfs is writable until it is mounted anew: files written into a hidden folder would vanish
  without a word. So hidden folders are made read-only after all is bound in them.
- `--die-with-parent` needs the process namespace, and follows the thread that has started it.
- Without `--cap-drop ALL`, root could undo the mounts.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from pathlib import PurePosixPath

import msgspec

PROGRAM = "bwrap"
NAMESPACES = (
    *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"),
    "--unshare-cgroup-try",
)
ENDING = ("--die-with-parent", "--new-session", "--cap-drop", "ALL")
FLAGS = (*NAMESPACES, *ENDING)
"""What every sandbox has."""
BASE = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
NO_NETWORK = "--unshare-net"
"""A loopback of its own, on which nobody listens: that of the machine is not there."""
NEW_FOLDERS = ("/dev", "/proc")
"""What bubblewrap makes anew; nothing of the machine's is below them."""
NOTHING = "/dev/null"


class Link(msgspec.Struct, frozen=True):
    """A symbolic link on the way to something that the process uses."""

    path: str
    target: str


class View(msgspec.Struct, frozen=True, kw_only=True):
    """What a process sees. All paths are absolute and without links, but for those of links.

    Only what exists may be named, but for `writable`, which must be there when the process starts,
    and what is named in `optional`.
    """

    hidden: tuple[str, ...] = ()
    """Folders that are empty and read-only."""
    scratch: tuple[str, ...] = ()
    """Folders that are empty and writable; what is in them goes with the process."""
    unreadable: tuple[str, ...] = ()
    """Files that cannot be opened."""
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    """Those of the two that need not be there."""
    links: tuple[Link, ...] = ()
    home: str = "/"
    cwd: str = "/"
    has_network: bool = True


class _Mount(IntEnum):
    """What lies at a path. Of several words about one path the greatest counts."""

    UNREADABLE = 0
    HIDDEN = 1
    SCRATCH = 2
    READABLE = 3
    WRITABLE = 4


def bwrap_argv(
    program: str, view: View, argv: Sequence[str], environment: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the argv that runs `argv` in a view. `program` is bubblewrap's path.

    `environment` are the words that change the variables inside.
    """
    mounts = _mounts(view)
    return (
        program,
        *BASE,
        *(word for path in mounts for word in _mount(mounts, path, view)),
        *_home(mounts, view),
        *(word for link in _needed(mounts, view) for word in ("--symlink", link.target, link.path)),
        *(word for path in _hidden(mounts) for word in ("--remount-ro", path)),
        *FLAGS,
        *(() if view.has_network else (NO_NETWORK,)),
        *environment,
        "--chdir",
        view.cwd,
        "--",
        *argv,
    )


def covers(folder: str, path: str) -> bool:
    """Whether a path is a folder, or lies below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def is_seen(view: View, path: str) -> bool:
    """Whether something that lies there on the machine is there in a view."""
    return _above(_mounts(view), path) in (None, _Mount.READABLE, _Mount.WRITABLE)


def _mounts(view: View) -> dict[str, _Mount]:
    """Return what is mounted, the outer before the inner."""
    words = (
        (view.unreadable, _Mount.UNREADABLE),
        (view.hidden, _Mount.HIDDEN),
        (view.scratch, _Mount.SCRATCH),
        (view.readable, _Mount.READABLE),
        (view.writable, _Mount.WRITABLE),
    )
    found = {path: kind for paths, kind in words for path in paths}
    return {path: found[path] for path in sorted(found, key=_by_depth)}


def _by_depth(path: str) -> tuple[int, str]:
    return len(PurePosixPath(path).parts), path


def _mount(mounts: Mapping[str, _Mount], path: str, view: View) -> Iterator[str]:
    """Yield the words of one mount; none where what lies around it says the same."""
    kind, around = mounts[path], _above(mounts, os.path.dirname(path))  # noqa: PTH120
    suffix = "-try" if path in view.optional else ""
    if kind is _Mount.UNREADABLE:
        yield from ("--ro-bind", NOTHING, path)
    elif (kind is _Mount.HIDDEN and around is not _Mount.HIDDEN) or kind is _Mount.SCRATCH:
        yield from ("--tmpfs", path)
    elif kind is _Mount.READABLE and around is not _Mount.READABLE:
        if around is not None or any(covers(folder, path) for folder in NEW_FOLDERS):
            yield from (f"--ro-bind{suffix}", path, path)
    elif kind is _Mount.WRITABLE and around is not _Mount.WRITABLE:
        yield from (f"--bind{suffix}", path, path)


def _above(mounts: Mapping[str, _Mount], path: str) -> _Mount | None:
    """Return what lies around a path, or at it; None for the machine's own file system."""
    for folder in (path, *map(str, PurePosixPath(path).parents)):
        if folder in mounts:
            return mounts[folder]
    return None


def _hidden(mounts: Mapping[str, _Mount]) -> Iterator[str]:
    """Yield the hidden folders that are mounts."""
    for path, kind in mounts.items():
        around = _above(mounts, os.path.dirname(path))  # noqa: PTH120
        if kind is _Mount.HIDDEN and around is not _Mount.HIDDEN:
            yield path


def _home(mounts: Mapping[str, _Mount], view: View) -> tuple[str, ...]:
    """Return what makes the home folder where a folder around it is hidden."""
    is_bare = _above(mounts, view.home) in (_Mount.HIDDEN, _Mount.SCRATCH)
    return ("--dir", view.home) if is_bare else ()


def _needed(mounts: Mapping[str, _Mount], view: View) -> Iterator[Link]:
    """Yield the links that are not there by themselves."""
    for link in dict.fromkeys(view.links):
        if _above(mounts, link.path) in (_Mount.HIDDEN, _Mount.SCRATCH):
            yield link
