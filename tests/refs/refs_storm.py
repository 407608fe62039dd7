"""A storm of SIGKILLs over two repositories that add and update the same references at once."""

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from journeys.site import wait_until
from refs.ref_site import RefSite
from refs.remotes import Remote

PROCESSES = 10
BOTH = ("README.md", "docs/style.md")
"""Two files of a remote that say the same in each of its commits."""
SOW = (sys.executable, "-P", "-m", "sow", "refs")


@dataclass
class Actor:
    """A command that runs."""

    site: RefSite
    words: tuple[str, ...]
    process: "subprocess.Popen[bytes]"


@dataclass
class RefsStorm:
    """A storm that goes on step by step, until so many were killed and so many have ended."""

    seed: int
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

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    def run(self) -> None:
        """Let it pass, and let everybody who is left come to an end."""
        wait_until(self.step, f"the storm of seed {self.seed} is over", seconds=600)
        wait_until(self.is_calm, "the last commands end", seconds=300)

    def step(self) -> bool:
        """Do one thing; return whether it was enough."""
        self.collect()
        while len(self.actors) < PROCESSES:
            self.begin()
        deed = self.chance.random()
        if deed < 0.5:
            self.kill(self.chance.choice(self.actors))
        elif deed < 0.6:
            self.commit(self.chance.choice(self.remotes))
        self.look()
        return self.kills.total() >= self.wanted_kills and self.ends.total() >= self.wanted_ends

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
        process = subprocess.Popen(
            (*SOW, *words),
            cwd=site.root,
            env=dict(os.environ),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        self.actors.append(Actor(site, words, process))

    def collect(self) -> None:
        """Take note of who has ended."""
        for actor in [actor for actor in self.actors if actor.process.poll() is not None]:
            self.actors.remove(actor)
            code = actor.process.returncode
            assert actor.process.stderr is not None
            words = actor.process.stderr.read().decode()
            actor.process.stderr.close()
            if code == -signal.SIGKILL:
                continue
            self.ends[actor.words[0], code] += 1
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
        below = []
        with suppress(psutil.Error):
            below = psutil.Process(actor.process.pid).children(recursive=True)
        with_git = self.chance.random() < 0.5
        actor.process.kill()
        for each in below if with_git else ():
            with suppress(psutil.Error):
                each.kill()
        self.kills[
            "with a git" if below and with_git else "beside a git" if below else "alone"
        ] += 1

    def commit(self, remote: Remote) -> None:
        """Have a remote go on, or now and then take another way."""
        self.commits += 1
        if self.chance.random() < 0.2 and remote.git("rev-list", "--count", "HEAD") != "1":
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
