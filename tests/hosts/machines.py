"""Machines on one machine: namespaces of processes, mounts and names, joined by a network.

Each machine has a first process, an address, a boot id and a machine id of its own, and sees its
disk, a folder, at the same place as all others see theirs. A link can be cut, reset or made slow; a
machine can be frozen, killed at once, and booted again. Owns nothing that lasts: there is no name
for any namespace, and the kernel takes each down with its last process, whatever ends the test.
Needs root, `unshare`, `nsenter` and `ip`. Knows nothing of sow.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from capabilities import skip_or_fail
from real.namespace import Namespace, NamespaceUnavailable, open_namespace

INIT = Path(__file__).with_name("machine_init.py")
SUBNET = "10.77.0"
SERVER_ADDRESS = f"{SUBNET}.1"
"""Where what runs in the network itself, beside the machines, is found by all of them."""
NAMES = ("db.example.org", "git.example.org")
"""How they may call it."""
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
DEATH_SECONDS = 60.0
COMMAND_SECONDS = 900.0
SLOW = ("rate", "256kbit", "burst", "2kb", "latency", "2s")
"""What a slow link lets through (tc-tbf): some 30 kB a second."""


class Network:
    """A bridge, and a link from it to each machine."""

    def __init__(self, hub: Namespace) -> None:
        self.hub = hub
        self._links = 0
        self._served: list[subprocess.Popen[str]] = []
        self.ip("link", "add", "bridge", "type", "bridge")
        self.ip("address", "add", f"{SERVER_ADDRESS}/24", "dev", "bridge")
        self.ip("link", "set", "bridge", "up")

    def ip(self, *words: str) -> None:
        self._run("ip", *words)

    def _run(self, *words: str) -> None:
        done = self.hub.run(words, timeout=COMMAND_SECONDS, env={"PATH": SYSTEM_PATH})
        assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"

    def serve(self, argv: Sequence[str], is_ready: Callable[[], bool]) -> None:
        """Start what serves all machines, and wait until it does."""
        quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        ends_with_us = ("setpriv", "--pdeathsig", "KILL", "--")
        self._served.append(self.hub.start((*ends_with_us, *argv), **quiet))
        wait_for(is_ready, f"{argv[0]} serves")

    def close(self) -> None:
        for each in self._served:
            each.kill()
            each.wait(DEATH_SECONDS)

    def plug(self, pid: int, address: str) -> str:
        """Give the machine of a process a link; return what its end at the bridge is called."""
        self._links += 1
        link = f"link{self._links}"
        peer = ("peer", "name", "eth0", "netns", str(pid))
        self.ip("link", "add", link, "type", "veth", *peer)
        inside = ("nsenter", "--target", str(pid), "--net", "--", "ip")
        for words in (("address", "add", f"{address}/24", "dev", "eth0"), ("link", "set", "eth0")):
            self._run(*inside, *words, *(("up",) if words[0] == "link" else ()))
        self.ip("link", "set", link, "master", "bridge")
        self.ip("link", "set", link, "up")
        return link

    def cut(self, link: str) -> None:
        """Have a link swallow everything, and say nothing of it."""
        self.ip("link", "set", link, "nomaster")

    def mend(self, link: str) -> None:
        self.ip("link", "set", link, "master", "bridge")

    def slow(self, link: str) -> None:
        self._run("tc", "qdisc", "replace", "dev", link, "root", "tbf", *SLOW)

    def quicken(self, link: str) -> None:
        self._run("tc", "qdisc", "delete", "dev", link, "root")


class Machine:
    """One machine, which runs or does not."""

    def __init__(self, network: Network, number: int, name: str, base: Path) -> None:
        """`base` is the folder for all machines: below it is this one's disk."""
        self.name = name
        self.address = f"{SUBNET}.{10 + number}"
        self.disk = base / name
        self.place = base / "disk"
        """Where the machine sees its disk."""
        self._network = network
        self._ids = base / f"{name}.ids"
        self._holder: subprocess.Popen[str] | None = None
        self._started: list[subprocess.Popen[bytes]] = []
        self.pid = 0
        """Its first process, as it is known outside."""
        self._link = ""
        for folder in (self.disk, self.place, self._ids):
            folder.mkdir(exist_ok=True)
        (self._ids / "machine-id").write_text(f"{uuid.uuid4().hex}\n")
        known = f"127.0.0.1 localhost {name}\n{SERVER_ADDRESS} {' '.join(NAMES)}\n"
        (self._ids / "hosts").write_text(known)

    @property
    def is_up(self) -> bool:
        return self._holder is not None

    def boot(self) -> None:
        """Start it, with a boot id of its own."""
        (self._ids / "boot_id").write_text(f"{uuid.uuid4()}\n")
        kinds = ("--net", "--pid", "--mount", "--uts", "--fork", "--kill-child")
        init = (sys.executable, "-I", str(INIT))
        words = (self.name, str(self._ids), str(self.disk), str(self.place))
        holder = subprocess.Popen(
            ["unshare", *kinds, *init, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert holder.stdout is not None
        line = holder.stdout.readline().strip()
        assert line == "ready", f"{line}\n{holder.stdout.read()}"
        self._holder = holder
        (self.pid,) = children(holder.pid)
        self._link = self._network.plug(self.pid, self.address)

    def _inside(self, argv: Sequence[str], folder: Path) -> list[str]:
        assert self.is_up, f"{self.name} does not run"
        kinds = ("--net", "--pid", "--mount", "--uts")
        return ["nsenter", "--target", str(self.pid), *kinds, "--", "env", "-C", str(folder), *argv]

    def run(
        self, argv: Sequence[str], *, folder: Path, env: Mapping[str, str], **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run a program to its end; what it prints is returned."""
        return subprocess.run(
            self._inside(argv, folder),
            env=env,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
            **{"stdin": subprocess.DEVNULL, **options},
        )

    def start(self, argv: Sequence[str], *, folder: Path, env: Mapping[str, str], log: Path) -> int:
        """Start a program, and return its pid outside; what it prints goes to a file's end."""
        with log.open("ab") as file:
            enters = subprocess.Popen(
                self._inside(argv, folder),
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )
        self._started.append(enters)
        deadline = time.monotonic() + DEATH_SECONDS
        while not (found := children(enters.pid)):
            assert enters.poll() is None, f"{argv} has ended: {log.read_text()}"
            assert time.monotonic() < deadline, f"{argv} does not start"
            time.sleep(0.01)
        return found[0]

    def processes(self) -> list[int]:
        """Return all of its processes, the first one among them, by their pids outside."""
        assert self.is_up
        return sharing_namespace(self.pid, "pid")

    def freeze(self) -> None:
        """Stop all of its processes at once; the network goes on."""
        stopped: set[int] = set()
        while new := {*self.processes()} - stopped:  # one may be forked meanwhile
            for pid in new:
                send(pid, signal.SIGSTOP)
            stopped |= new

    def thaw(self) -> None:
        """Have all go on: those that have led inside, too, which stop where their child does."""
        assert self._holder is not None
        ways = [self._holder.pid, *(each.pid for each in self._started if each.poll() is None)]
        for pid in [*self.processes(), *ways]:
            send(pid, signal.SIGCONT)

    def cut(self) -> None:
        """Have its link swallow everything."""
        self._network.cut(self._link)

    def mend(self) -> None:
        self._network.mend(self._link)

    def slow(self) -> None:
        self._network.slow(self._link)

    def quicken(self) -> None:
        self._network.quicken(self._link)

    def reset(self) -> None:
        """Break all of its connections: both ends learn of it."""
        words = ("ss", "--kill", "--no-header", "--tcp", "dst", SERVER_ADDRESS)
        env = {"PATH": SYSTEM_PATH}
        done = self.run(words, folder=Path("/"), env=env)
        assert done.returncode == 0, done.stderr

    def die(self) -> None:
        """Kill all of its processes at once, and its network with them, as a lost power does."""
        holder, self._holder = self._holder, None
        if holder is None:
            return
        everybody = sharing_namespace(self.pid, "pid")
        send(self.pid, signal.SIGKILL)  # the kernel kills all others with it
        holder.kill()  # `unshare` stops itself where its child does
        holder.communicate(timeout=DEATH_SECONDS)
        for each in self._started:
            each.kill()
            each.wait(DEATH_SECONDS)
        self._started.clear()
        await_death(everybody)


def children(pid: int) -> list[int]:
    """Return the children of a process that has one thread."""
    with suppress(OSError):
        return [*map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
    return []


def send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def sharing_namespace(pid: int, kind: str) -> list[int]:
    """Return all processes that are in the same namespace of a kind as one of them."""
    found, name = [], Path(f"/proc/{pid}/ns/{kind}").readlink()
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and (entry / f"ns/{kind}").readlink() == name:
                found.append(int(entry.name))
    return found


def await_death(pids: Sequence[int]) -> None:
    """Wait until none of these is there any more, zombies set aside."""
    deadline = time.monotonic() + DEATH_SECONDS
    while left := [pid for pid in pids if is_alive(pid)]:
        assert time.monotonic() < deadline, f"still there after SIGKILL: {left}"
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


@contextmanager
def open_network() -> Iterator[Network]:
    """Open a network without machines; the test is left out where this machine grants none."""
    missing = [
        name for name in ("unshare", "nsenter", "setpriv", "ip", "tc", "ss") if not which(name)
    ]
    if missing or os.geteuid() != 0:
        skip_or_fail(f"namespaces need root, unshare, nsenter and ip ({missing})")
    try:
        with open_namespace({"PATH": SYSTEM_PATH}) as hub:
            network = Network(hub)
            try:
                yield network
            finally:
                network.close()
    except NamespaceUnavailable as error:
        skip_or_fail(f"this machine grants no network namespace: {error}")


def which(name: str) -> str | None:
    return shutil.which(name, path=SYSTEM_PATH)


def wait_for(condition: Callable[[], bool], what: str, seconds: float = DEATH_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"never happened: {what}"
        time.sleep(0.02)
