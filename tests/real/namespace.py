"""A network namespace with loopback and nothing else, and programs run inside it.

Owns the namespace and everything that lives there: one process holds it open,
every other enters it, and at the end none may be left. Programs may run as another user
(`own_user`): then there are mounts of its own as well, which show the user's name and open to it
what lies below a closed folder, such as a Python below /root. Needs `unshare` and
`nsenter` of util-linux, and root or unprivileged user namespaces. Knows nothing
of sow, Claude Code or models.
"""

import contextlib
import ctypes
import fcntl
import os
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

SIOCGIFFLAGS, SIOCSIFFLAGS = 0x8913, 0x8914  # linux/sockios.h
IFF_UP = 0x1  # linux/if.h
DEATH_SECONDS = 60.0
"""How long a killed process may take on a busy machine: what it had of memory goes with it."""
MS_BIND, MS_REC = 0x1000, 0x4000  # linux/mount.h
PASSWD = Path("/etc/passwd")


class User(NamedTuple):
    """Whom programs run as, if not whom the tests run as; only root can have one."""

    number: int
    """Of the user and of its group."""
    passwd: Path
    """What lies in the place of /etc/passwd."""
    needs: tuple[Path, ...]
    """Folders that it must get to, without links."""


class NamespaceUnavailable(Exception):
    """This machine grants no network namespace; the words say why."""


@dataclass(frozen=True)
class Namespace:
    """An open namespace."""

    holder: int
    """The process that keeps it open."""
    enter: tuple[str, ...]
    """What goes before an argv to run it inside."""
    has_own_mounts: bool = False
    """Whether the way in leads to other mounts, where a program begins in the root folder."""

    def run(
        self, argv: Sequence[str], *, timeout: float, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run a program inside and return its end and its words; `options` as subprocess.run's."""
        return subprocess.run(
            self._inside(argv, options),
            timeout=timeout,
            capture_output=True,
            text=True,
            check=False,
            **options,
        )

    def start(self, argv: Sequence[str], **options: Any) -> subprocess.Popen[str]:
        """Start a program inside; `options` as subprocess.Popen's."""
        return subprocess.Popen(self._inside(argv, options), text=True, **options)

    def _inside(self, argv: Sequence[str], options: Mapping[str, Any]) -> list[str]:
        cwd = options.get("cwd") or Path.cwd()
        return [*self.enter, *(("env", "-C", str(cwd)) if self.has_own_mounts else ()), *argv]

    def inhabitants(self) -> dict[int, str]:
        """Return the command line of every process inside, but the holder's."""
        found = {}
        here = Path(f"/proc/{self.holder}/ns/net").readlink()
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (process / "ns/net").readlink() == here and process.name != str(self.holder):
                    line = (process / "cmdline").read_bytes().replace(b"\0", b" ")
                    found[int(process.name)] = line.decode(errors="replace").strip()
        return found

    def clear(self) -> dict[int, str]:
        """Kill whoever is still inside, and return who was."""
        left: dict[int, str] = {}
        deadline = time.monotonic() + DEATH_SECONDS
        while inside := self.inhabitants():
            left.update(inside)
            for pid in inside:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > deadline:
                raise AssertionError(f"still inside after SIGKILL: {inside}")
            time.sleep(0.01)
        return left


@contextmanager
def open_namespace(environ: Mapping[str, str], user: User | None = None) -> Iterator[Namespace]:
    """Open a namespace, and end everything in it when done.

    Programs in it run as `user`, if there is one. Raises NamespaceUnavailable.
    """
    unshare, nsenter = (shutil.which(name, path=environ["PATH"]) for name in ("unshare", "nsenter"))
    if unshare is None or nsenter is None:
        raise NamespaceUnavailable("unshare and nsenter (util-linux) are not installed")
    root = os.geteuid() == 0
    rights = [] if root else ["--map-root-user"]
    mounts = ["--mount"] if user is not None else []
    shown = [str(path) for path in (user.passwd, *user.needs)] if user is not None else []
    holder = subprocess.Popen(
        [unshare, "--net", *mounts, *rights, sys.executable, "-I", __file__, *shown],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdin
        assert holder.stdout
        assert holder.stderr
        line = holder.stdout.readline().strip()
        if line != "only lo":
            holder.stdin.close()
            raise NamespaceUnavailable(line or holder.stderr.read().strip())
        own = [] if root else ["--user", "--preserve-credentials"]
        other = [] if user is None else [f"--setuid={user.number}", f"--setgid={user.number}"]
        enter = (nsenter, "--target", str(holder.pid), *own, *mounts, *other, "--net", "--")
        namespace = Namespace(holder.pid, enter, has_own_mounts=bool(mounts))
        try:
            yield namespace
        finally:
            namespace.clear()
            holder.stdin.close()


def hold() -> None:
    """Bring loopback up, say what interfaces there are, and stay until stdin closes."""
    for passwd in sys.argv[1:2]:
        _mount(passwd, PASSWD)
        _open_up([*map(Path, sys.argv[2:])])
    _bring_up("lo")
    names = [name for _, name in socket.if_nameindex()]
    print("only lo" if names == ["lo"] else f"interfaces other than lo: {names}", flush=True)
    sys.stdin.read()


def _open_up(folders: Sequence[Path]) -> None:
    """Put an empty folder in the place of each that is closed, with these folders in it alone."""
    closed = {folder: above for folder in folders for above in _closed_above(folder)[:1]}
    kept = {folder: os.open(folder, os.O_PATH | os.O_DIRECTORY) for folder in closed}
    for above in {*closed.values()}:
        _mount("none", above, b"tmpfs", b"mode=755")
    for folder, descriptor in kept.items():
        folder.mkdir(parents=True, exist_ok=True)
        _mount(f"/proc/self/fd/{descriptor}", folder)
        os.close(descriptor)


def _closed_above(folder: Path) -> list[Path]:
    """Return the folders on the way that are not open to others, the outermost first."""
    needed, above = stat.S_IROTH | stat.S_IXOTH, [*reversed(folder.parents)]
    return [each for each in above if each.stat().st_mode & needed != needed]


def _mount(source: str, target: Path, kind: bytes | None = None, data: bytes | None = None) -> None:
    """Mount a file system of a kind; a bind mount without one. Raises OSError."""
    library = ctypes.CDLL(None, use_errno=True)
    flags = MS_BIND | MS_REC if kind is None else 0
    if library.mount(os.fsencode(source), os.fsencode(target), kind, flags, data) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(target))


def _bring_up(interface: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        name = interface.encode()
        request = struct.pack("16sh22x", name, 0)
        flags = struct.unpack("16xh22x", fcntl.ioctl(control, SIOCGIFFLAGS, request))[0]
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh22x", name, flags | IFF_UP))


if __name__ == "__main__":
    hold()
