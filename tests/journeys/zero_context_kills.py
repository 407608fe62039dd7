"""The death of everybody at once, in the middle of a command: caller, worker, agents, git.

Owns when: at each step of a project, so many times before it is let through, after a drawn
number of changes that an onlooker sees in the files and processes of the site.
"""

import os
import random
import signal
import subprocess
from collections import Counter
from contextlib import suppress
from pathlib import Path

from journeys.site import Site, wait_until
from journeys.storm_verdict import processes_with

JOBS = ("sow agent ", "sow batch ", "sow merge ", "sow project check")
"""How the command lines begin that have a job done."""
LOOKS = ("sow project list",)
"""What only shows something: it is no step."""
MOST_CHANGES = {True: 14, False: 2}
"""How many changes are waited for, at most: of a command that has a job done, and of another."""


class Kills:
    """Each step is cut off so many `times`; `seed` draws the moments."""

    def __init__(self, site: Site, seed: int, *, times: int = 1) -> None:
        self.site, self.times = site, times
        self.chance = random.Random(seed)
        self.cut_off: set[str] = set()
        """The steps at which all were killed."""
        self.in_time = 0
        """How often the command had not ended by itself before that."""
        self.victims: Counter[str] = Counter()
        self._since: Counter[str] = Counter()

    def is_due(self, line: str) -> bool:
        """Whether a step is to be cut off now; else it is let through, and due once more after."""
        if self._since[line] < self.times:
            return not line.startswith(LOOKS)
        self._since[line] = 0
        return False

    def strike(self, line: str, call: subprocess.Popen[str]) -> None:
        """Kill all processes of the site once the call has got so far, or has ended."""
        self.cut_off.add(line)
        self._since[line] += 1
        left = self.chance.randint(0, MOST_CHANGES[line.startswith(JOBS)])
        seen = self._sight()

        def is_time() -> bool:
            nonlocal left, seen
            if (now := self._sight()) != seen:
                left, seen = left - 1, now
            return left <= 0 or call.poll() is not None

        wait_until(is_time, "the moment")
        self.in_time += call.poll() is None
        wait_until(self._kill_all, "nobody lives")
        call.communicate()

    def _sight(self) -> object:
        """Return what an onlooker sees: who lives, and what was written when."""
        written = {}
        for folder, _, names in os.walk(self.site.root / ".sow"):
            for path in (folder, *(f"{folder}/{name}" for name in names)):
                with suppress(OSError):  # gone in this moment
                    written[path] = Path(path).stat().st_mtime_ns
        return self._living(), written

    def _living(self) -> list[int]:
        return processes_with(f"HOME={self.site.env['HOME']}")

    def _kill_all(self) -> bool:
        """Kill who is there; return whether nobody was."""
        pids = self._living()
        for pid in pids:
            kind = kind_of(pid)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self.victims[kind] += 1
        return not pids


def kind_of(pid: int) -> str:
    """Return what a process is, by its command line and its surroundings."""
    with suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        around = Path(f"/proc/{pid}/environ").read_bytes()
        if any(word.endswith(b"supervisor/program.py") for word in words):
            return "supervisor"
        if words[0].endswith(b"git"):
            return "git"
        if b"\0SOW_ATTEMPT_ID=" in around:
            return "agent"
        if b"worker" in words:
            return "worker"
    return "caller"
