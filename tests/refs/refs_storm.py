"""A storm of SIGKILLs over two repositories that add and update the same references at once."""

import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import psutil
from journeys.site import wait_until
from proving import rounds
from refs.ref_site import RefSite
from refs.remotes import Remote

from sow.cli.root import run

PROCESSES = 10
WITH_GIT = 0.7
"""How many of those that are killed are killed while they run a git."""
KILLED = 0.6
"""How many of the commands are killed, if they do not end before."""
HOW = ("alone", "with a git", "beside a git")
"""How a command is killed: while no git of its runs, together with that, or not."""
OF_EACH = rounds(5, 3)
"""The storm goes on until so many were killed in each way."""
BOTH = ("README.md", "docs/style.md")
"""Two files of a remote that say the same in each of its commits."""


@dataclass
class Actor:
    """A command that runs."""

    site: RefSite
    words: tuple[str, ...]
    pid: int
    output: Path
    begun: float
    dies_after: float | None
    """How old it becomes, in seconds, if it does not end before; None for one that is spared."""

    waits_for_git: bool
    """Whether it is killed only while it runs a git."""

    @property
    def is_due(self) -> bool:
        """Whether it is to be killed now."""
        if self.dies_after is None or time.monotonic() - self.begun < self.dies_after:
            return False
        return not self.waits_for_git or bool(self.gits())

    def gits(self) -> list[psutil.Process]:
        """Return what it runs."""
        with suppress(psutil.Error):
            return psutil.Process(self.pid).children(recursive=True)
        return []


def forked(
    site: RefSite, words: tuple[str, ...], output: Path, before: Callable[[], None] | None = None
) -> int:
    """Run a command line in a process of its own, and return its pid; `before` is called in it.

    It is forked: the start of an interpreter would be most of its life, and of the kills.
    """
    pid = os.fork()
    if pid:
        return pid
    try:
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        os.chdir(site.root)
        with (
            os.fdopen(1, "w", closefd=False) as out,
            os.fdopen(2, "w", closefd=False) as err,
        ):
            sys.stdout, sys.stderr = out, err
            if before is not None:
                before()
            code = run(("refs", *words))
        os._exit(code)
    finally:
        os._exit(70)


@dataclass
class RefsStorm:
    """A storm that goes on step by step, until so many were killed and so many have ended."""

    seed: int
    folder: Path
    sites: list[RefSite]
    remotes: list[Remote]
    wanted_kills: int
    wanted_ends: int
    chance: random.Random = field(init=False)
    actors: list[Actor] = field(default_factory=list)
    kills: Counter[str] = field(default_factory=Counter)
    ends: Counter[tuple[str, int]] = field(default_factory=Counter)
    added: set[tuple[Path, str]] = field(default_factory=set)
    """Which references a call has reported as added."""
    torn: list[str] = field(default_factory=list)
    """What a reader has seen that must not be."""
    commits: int = 0
    usual_seconds: float = 1.0
    """How long a command takes here: kills are spread over its life."""

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    def passed(self) -> Self:
        """Let it pass, and let everybody who is left come to an end; return it."""
        wait_until(self.step, f"the storm of seed {self.seed} is over", seconds=1800)
        wait_until(self.is_calm, "the last commands end", seconds=300)
        return self

    def step(self) -> bool:
        """Do one thing; return whether it was enough."""
        self.collect()
        while len(self.actors) < PROCESSES:
            self.begin()
        for actor in [actor for actor in self.actors if actor.is_due]:
            self.kill(actor)
        if self.chance.random() < 0.1:
            self.commit(self.chance.choice(self.remotes))
        self.look()
        enough = self.kills.total() >= self.wanted_kills and self.ends.total() >= self.wanted_ends
        return enough and min(self.kills[how] for how in HOW) >= OF_EACH

    def is_calm(self) -> bool:
        """Whether nobody runs any more."""
        self.collect()
        self.look()
        return not self.actors

    def begin(self) -> None:
        """Start a command in one of the repositories."""
        site = self.chance.choice(self.sites)
        remote = self.chance.choice(self.remotes)
        name = remote.path.name
        words = self.chance.choice(
            [
                ("add", remote.url),
                ("add", remote.url, "--path", "docs", "--id", f"{name}-docs"),
                ("update",),
                ("update", name),
                ("init",),
                ("status",),
                ("prune",),
            ]
        )
        output = self.folder / f"output-{self.kills.total()}-{self.ends.total()}-{time.monotonic()}"
        pid = forked(site, words, output)
        dies = self.chance.random() < KILLED
        dies_after = self.chance.uniform(0.1, 1.2) * self.usual_seconds if dies else None
        waits = self.chance.random() < WITH_GIT
        self.actors.append(Actor(site, words, pid, output, time.monotonic(), dies_after, waits))

    def collect(self) -> None:
        """Take note of who has ended."""
        for actor in list(self.actors):
            pid, status = os.waitpid(actor.pid, os.WNOHANG)
            if not pid:
                continue
            self.actors.remove(actor)
            code = os.waitstatus_to_exitcode(status)
            words = actor.output.read_text() if actor.output.exists() else ""
            actor.output.unlink(missing_ok=True)
            if code == -signal.SIGKILL:
                continue
            self.ends[actor.words[0], code] += 1
            seconds = time.monotonic() - actor.begun
            self.usual_seconds = 0.8 * self.usual_seconds + 0.2 * seconds
            if "bug" in words or "Traceback" in words or code not in (0, 1, 4):
                self.torn.append(f"{actor.words} ended with {code}: {words}")
            if actor.words[0] == "add":
                if code == 0:
                    name = Path(actor.words[1]).name
                    name = f"{name}-docs" if "--path" in actor.words else name
                    self.added.add((actor.site.root, name))
                else:
                    self.torn.append(f"{actor.words} failed: {words}")

    def kill(self, actor: Actor) -> None:
        """Kill a command at a moment of its life; now and then with the git that it runs."""
        below = actor.gits()
        with_git = self.chance.random() < 0.5
        os.kill(actor.pid, signal.SIGKILL)
        actor.dies_after = None
        for each in below if with_git else ():
            with suppress(psutil.Error):
                each.kill()
        self.kills[
            "with a git" if below and with_git else "beside a git" if below else "alone"
        ] += 1

    def commit(self, remote: Remote) -> None:
        """Have a remote go on, or now and then take another way."""
        self.commits += 1
        if self.chance.random() < 0.2 and int(remote.git("rev-list", "--count", "HEAD")) > 2:
            remote.git("reset", "-q", "--hard", "HEAD~1")
        for name in BOTH:
            remote.write(name, f"{self.commits}\n")
        remote.commit(f"Commit {self.commits}")

    def look(self) -> None:
        """Read what is linked as an agent would: each link leads to one whole commit."""
        for site in self.sites:
            for remote in self.remotes:
                link = site.link(remote.path.name)
                if not os.path.lexists(link):
                    continue
                try:
                    top = link.resolve(strict=True)
                    texts = {(top / name).read_text() for name in BOTH}
                except OSError as error:
                    self.torn.append(f"{link} leads to nothing: {error}")
                else:
                    if len(texts) != 1:
                        self.torn.append(f"{link} is no single commit: {texts}")
