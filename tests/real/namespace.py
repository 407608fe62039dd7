"""A network namespace with loopback and nothing else, and programs run inside it.

Owns the namespace and everything that lives there: one process holds it open,
every other enters it, and at the end none may be left. Needs `unshare` and
`nsenter` of util-linux, and root or unprivileged user namespaces. Knows nothing
of sow, Claude Code or models.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SIOCGIFFLAGS, SIOCSIFFLAGS = 0x8913, 0x8914  # linux/sockios.h
IFF_UP = 0x1  # linux/if.h
DEATH_SECONDS = 60.0
"""How long a killed process may take on a busy machine: what it had of memory goes with it."""


class NamespaceUnavailable(Exception):
    """This machine grants no network namespace; the words say why."""


@dataclass(frozen=True)
class Namespace:
    """An open namespace."""

    holder: int
    """The process that keeps it open."""
    enter: tuple[str, ...]
    """What goes before an argv to run it inside."""

    def run(
        self, argv: Sequence[str], *, timeout: float, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run a program inside and return its end and its words; `options` as subprocess.run's."""
        return subprocess.run(
            [*self.enter, *argv],
            timeout=timeout,
            capture_output=True,
            text=True,
            check=False,
            **options,
        )

    def start(self, argv: Sequence[str], **options: Any) -> subprocess.Popen[str]:
        """Start a program inside; `options` as subprocess.Popen's."""
        return subprocess.Popen([*self.enter, *argv], text=True, **options)

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
def open_namespace(environ: Mapping[str, str]) -> Iterator[Namespace]:
    """Open a namespace, and end everything in it when done.

    Raises NamespaceUnavailable.
    """
    unshare, nsenter = (shutil.which(name, path=environ["PATH"]) for name in ("unshare", "nsenter"))
    if unshare is None or nsenter is None:
        raise NamespaceUnavailable("unshare and nsenter (util-linux) are not installed")
    root = os.geteuid() == 0
    rights = [] if root else ["--map-root-user"]
    holder = subprocess.Popen(
        [unshare, "--net", *rights, sys.executable, "-I", __file__],
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
        user = [] if root else ["--user", "--preserve-credentials"]
        enter = (nsenter, "--target", str(holder.pid), *user, "--net", "--")
        namespace = Namespace(holder.pid, enter)
        try:
            yield namespace
        finally:
            namespace.clear()
            holder.stdin.close()


def hold() -> None:
    """Bring loopback up, say what interfaces there are, and stay until stdin closes."""
    _bring_up("lo")
    names = [name for _, name in socket.if_nameindex()]
    print("only lo" if names == ["lo"] else f"interfaces other than lo: {names}", flush=True)
    sys.stdin.read()


def _bring_up(interface: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        name = interface.encode()
        request = struct.pack("16sh22x", name, 0)
        flags = struct.unpack("16xh22x", fcntl.ioctl(control, SIOCGIFFLAGS, request))[0]
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh22x", name, flags | IFF_UP))


if __name__ == "__main__":
    hold()
