"""A storm of links: commands at work on references while somebody swaps what they work on.

Each command is a process of its own, and so is who swaps, until the last of them has ended.
"""

import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from journeys.site import wait_until
from refs.ref_site import RefSite
from refs.refs_storm import forked
from refs.remotes import Remote
from refs.swapping import Swapper

PROCESSES = 4
REFUSALS = (1, 4)
"""The codes of a command that has told why it does nothing."""


def refuse_links(*_: object, **__: object) -> None:
    """Make no link, as a file system without any: what is linked is copied then."""
    raise OSError(1, "Operation not permitted")


def without_links() -> None:
    """Have this process make no link from now on."""
    os.symlink = refuse_links


def swapping(swapper: Swapper, count: Path) -> int:
    """Start a process that swaps until it is told to end, and return its pid.

    It ends with 0 where it has put all back; how many links there were it writes down.
    """
    pid = os.fork()
    if pid:
        return pid
    is_over: list[int] = []
    try:
        signal.signal(signal.SIGTERM, lambda number, _: is_over.append(number))
        while not is_over:
            swapper.swap_once()
        count.write_text(str(swapper.swaps))
        os._exit(0)
    finally:
        os._exit(70)


@dataclass
class SwapStorm:
    """Commands, one after the other in some processes at once, until so many have ended."""

    seed: int
    folder: Path
    site: RefSite
    remotes: list[Remote]
    canary: Path
    wanted_ends: int
    ends: Counter[str] = field(default_factory=Counter)
    wrongs: list[str] = field(default_factory=list)
    running: dict[int, tuple[tuple[str, ...], Path]] = field(default_factory=dict)
    begun: int = 0
    swaps: int = 0

    def passed(self) -> Self:
        """Let it pass; return it."""
        self.chance = random.Random(self.seed)
        swapper = Swapper(self.site, self.canary, self.seed)
        count = self.folder / "count"
        attacker = swapping(swapper, count)
        try:
            wait_until(self.is_enough, f"the storm of seed {self.seed} is over", seconds=600)
        finally:
            os.kill(attacker, signal.SIGTERM)
            _, status = os.waitpid(attacker, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        self.swaps = int(count.read_text())
        return self

    def is_enough(self) -> bool:
        """Begin and collect commands; return whether so many have ended, and none is left."""
        for pid in list(self.running):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                self.note(*self.running.pop(pid), os.waitstatus_to_exitcode(status))
        while self.begun < self.wanted_ends and len(self.running) < PROCESSES:
            self.begin()
        return not self.running

    def begin(self) -> None:
        """Start a command; some of them in a process that cannot make links."""
        remote = self.chance.choice(self.remotes)
        name = remote.path.name
        words = self.chance.choice(
            [
                *[("add", remote.url)] * 2,
                ("update",),
                ("init",),
                ("remove", name),
                ("prune",),
                ("list",),
            ]
        )
        self.begun += 1
        output = self.folder / f"output-{self.begun}"
        before: Callable[[], None] | None = self.chance.choice((None, without_links))
        self.running[forked(self.site, words, output, before)] = (words, output)

    def note(self, words: tuple[str, ...], output: Path, code: int) -> None:
        """Take note of how a command has ended."""
        text = output.read_text()
        self.ends["done" if code == 0 else "refused"] += 1
        if code and (code not in REFUSALS or not text.strip() or "a bug" in text):
            self.wrongs.append(f"{words} ended with {code}: {text}")
        if "Traceback" in text:
            self.wrongs.append(f"{words}: {text}")
