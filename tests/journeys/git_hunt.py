"""The git processes that sow has started in a storm, found by their parents, and killed.

Each git of the site says its process id before it begins: the `git` on the site's PATH writes it
into a pipe, and becomes the true one. Whose it is, the processes above it say: a step's program,
a worker, or the call that the storm waits with. An agent's own git is never touched.
"""

import os
import random
import re
import select
import shutil
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from journeys.site import Site
from proving import FOLDER

PROC = Path("/proc")
STEPS = "worker.steps"
"""In the command line of each program of a step, and of the server that forks them."""
WINDOWS: Mapping[str, str] = {
    "merge": "merging",
    "update": "updating a clone",
    "check": "checking",
    "spawn": "making a clone",
    "resume": "making a clone",
    "review": "making a review's clone",
}
"""What a step does, by the verb of its job."""
OF_WORKER, OF_CALL = "driving and gathering", "looking, in a call"
ALL_WINDOWS = (*dict.fromkeys(WINDOWS.values()), OF_WORKER, OF_CALL)
OFTEN, SELDOM = (0.7, 0.25) if FOLDER else (0.4, 0.12)
"""How likely a git is killed: of a step, and of others, which are more. A proof kills more."""
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


SAYING = """#!/bin/sh
[ -p "{pipe}" ] && echo $$ 1<>"{pipe}"
exec {git} "$@"
"""
LONGEST_SECONDS = 0.004
"""How long a git lives on at most, once it has said that it begins: few take longer."""


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
        self.is_behind = False
        """Whether more of the work is done than of the kills: then each git is as likely killed."""
        self._of_job: Counter[str] = Counter()
        self._verbs: dict[str, str] = {}
        self._over = threading.Event()
        self._pipe = site.base / "gits"
        os.mkfifo(self._pipe)
        says = site.base / "bin/git"
        says.write_text(SAYING.format(pipe=self._pipe, git=shutil.which("git")))
        says.chmod(0o755)

    def run(self) -> None:
        pipe = os.open(self._pipe, os.O_RDWR)
        try:
            while self.left > 0 and not self._over.is_set():
                if select.select([pipe], [], [], 0.05)[0]:
                    for word in os.read(pipe, select.PIPE_BUF).split():
                        self._meet(int(word))
        finally:
            self._pipe.unlink()
            os.close(pipe)

    def stop(self) -> None:
        """End it, and wait until it has ended."""
        self._over.set()
        self.join()

    def _meet(self, pid: int) -> None:
        """Kill a git in the midst of its work if it is one of sow's, and chance has it."""
        try:
            descriptor = os.pidfd_open(pid)  # from here on the number means this process alone
        except OSError:
            return
        try:
            found = self._owner(pid)
            if found is None:
                return
            self.met[found.window] += 1
            if self.chance.random() > (OFTEN if found.job or self.is_behind else SELDOM):
                return
            if found.job and self._of_job[found.job] >= MOST_OF_JOB:
                return
            time.sleep(self.chance.uniform(0, LONGEST_SECONDS))
            if select.select([descriptor], [], [], 0)[0]:
                return  # it has ended
            with suppress(ProcessLookupError):  # now it has
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                self._of_job[found.job] += 1
                self.kills[found.window] += 1
                self.left -= 1
        finally:
            os.close(descriptor)

    def _owner(self, pid: int) -> Found | None:
        """Return whose git a process is; None where it is not sow's."""
        above = pid
        for _ in range(DEEPEST):
            above = _parent(above)
            words = _read(above, "cmdline").decode("utf-8", "replace")
            if STEPS in words:
                job = _job(above)
                window = WINDOWS.get(self._verb(job))
                return Found(pid, window, job) if window else None
            if above == self.caller:
                return Found(pid, OF_CALL, "")
            if above in self.workers:
                return Found(pid, OF_WORKER, "")
            if _name(above) != "git":
                return None
        return None

    def _verb(self, job: str) -> str:
        """Return the verb of a job; nothing where none is known."""
        if job and job not in self._verbs:
            uri = f"file:{self.site.root}/.sow/run/queue.db?mode=ro"
            with closing(sqlite3.connect(uri, uri=True)) as queue:
                row = queue.execute("select verb from job where id = ?", (job,)).fetchone()
            self._verbs[job] = row[0] if row else ""
        return self._verbs.get(job, "")


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


def _job(pid: int) -> str:
    """Return the job that a process works for, by its variables; nothing where it has none."""
    found = re.search(rb"\0SOW_JOB_ID=(\d+)\0", b"\0" + _read(pid, "environ"))
    return found[1].decode() if found else ""
