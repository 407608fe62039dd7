"""The git processes that sow has started in a storm, found by their parents, and killed.

Whose a git is, the processes above it say: a step's program, a worker, or the call that the
storm waits with. An agent's own git is never touched, nor that of any other process.
"""

import os
import random
import re
import signal
import threading
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from journeys.site import Site

PROC = Path("/proc")
STEP = re.compile(r"worker\.steps(?:\.(\w+)|\0(\w+))")
"""In a command line: the step's program, by its module or by the name that it is given."""
WINDOWS: Mapping[str, str] = {
    "merge": "merging",
    "update": "updating a clone",
    "check": "checking",
    "clone": "making a clone",
    "review": "making a review's clone",
}
OF_WORKER, OF_CALL = "driving and gathering", "looking, in a call"
ALL_WINDOWS = (*WINDOWS.values(), OF_WORKER, OF_CALL)
OFTEN, SELDOM = 0.6, 0.4
"""How likely a git is killed that the hunt has met: of a step, and of others, which are more."""
MOST_OF_JOB = 3
"""How many gits of one job are killed: each kill costs it a pause that is twice as long."""
DEEPEST = 6
"""How far above a git its owner is looked for."""


class Found(NamedTuple):
    """A git of sow's."""

    pid: int
    window: str
    job: str
    """Whose job it works for; empty where for none."""


class GitHunt(threading.Thread):
    """Kills gits of one site's sow, as often as it is allowed, until it is stopped."""

    def __init__(self, site: Site, chance: random.Random, *, kills: int) -> None:
        super().__init__(name="git hunt", daemon=True)
        self.site, self.chance, self.left = site, chance, kills
        self.kills: Counter[str] = Counter()
        self.met: Counter[str] = Counter()
        """How many gits of sow's it has seen, killed or not."""
        self.caller = 0
        """The pid of the call that waits now."""
        self.workers: frozenset[int] = frozenset()
        self._of_job: Counter[str] = Counter()
        self._spared: set[tuple[int, str]] = set()
        self._home = f"\0HOME={site.env['HOME']}\0".encode()
        self._over = threading.Event()

    def run(self) -> None:
        while self.left > 0 and not self._over.wait(0.001):
            for pid in _gits():
                self._meet(pid)

    def stop(self) -> None:
        """End it, and wait until it has ended."""
        self._over.set()
        self.join()

    def _meet(self, pid: int) -> None:
        """Kill a git if it is one of sow's here, and chance has it; each is met once."""
        try:
            descriptor = os.pidfd_open(pid)  # from here on the number means this process alone
        except OSError:
            return
        try:
            identity = pid, _started(pid)
            if identity in self._spared:
                return
            self._spared.add(identity)
            found = self._owner(pid)
            if found is None:
                return
            self.met[found.window] += 1
            if self.chance.random() > (OFTEN if found.job else SELDOM):
                return
            if found.job and self._of_job[found.job] >= MOST_OF_JOB:
                return
            with suppress(OSError):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                self._of_job[found.job] += 1
                self.kills[found.window] += 1
                self.left -= 1
        finally:
            os.close(descriptor)

    def _owner(self, pid: int) -> Found | None:
        """Return whose git a process is; None where it is not sow's, or not of this site."""
        if _name(pid) != "git" or self._home not in b"\0" + _read(pid, "environ"):
            return None
        above = pid
        for _ in range(DEEPEST):
            above = _parent(above)
            words = _read(above, "cmdline").decode("utf-8", "replace")
            if step := STEP.search(words):
                window = WINDOWS.get(step[1] or step[2] or "")
                return Found(pid, window, _job(above)) if window else None
            if above == self.caller:
                return Found(pid, OF_CALL, "")
            if above in self.workers:
                return Found(pid, OF_WORKER, "")
            if _name(above) != "git":
                return None
        return None


def _gits() -> list[int]:
    """Return the processes of this machine that are called git."""
    names = (entry.name for entry in PROC.iterdir())
    return [int(name) for name in names if name.isdigit() and _name(int(name)) == "git"]


def _read(pid: int, name: str) -> bytes:
    with suppress(OSError):
        return (PROC / str(pid) / name).read_bytes()
    return b""


def _name(pid: int) -> str:
    return _read(pid, "comm").decode("utf-8", "replace").strip()


def _fields(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat behind the name, the first of which is the state."""
    return _read(pid, "stat").decode("utf-8", "replace").rpartition(") ")[2].split()


def _parent(pid: int) -> int:
    fields = _fields(pid)
    return int(fields[1]) if fields else 0


def _started(pid: int) -> str:
    fields = _fields(pid)
    return fields[19] if fields else ""


def _job(pid: int) -> str:
    """Return the job that a process works for, by its variables."""
    found = re.search(rb"\0SOW_JOB_ID=(\d+)\0", b"\0" + _read(pid, "environ"))
    return found[1].decode() if found else str(pid)
