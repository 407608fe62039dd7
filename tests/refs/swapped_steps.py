"""A command, and a link put in its way at one of its steps: at each in turn, nothing is missed.

Python's audit events tell of a step before it is taken, so what was looked at before it is another
thing by then. Each command runs in a process of its own.
"""

import os
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from refs.ref_site import RefSite
from refs.refs_storm import forked
from refs.swapping import FLAGS, Swap, counterpart, snapshot

STEPS = {
    *("open", "os.listdir", "os.scandir", "os.rename", "os.remove", "os.mkdir", "os.rmdir"),
    *("os.chmod", "os.symlink", "os.link", "os.truncate", "os.utime"),
}
TARGETS = (".sow", "refs", "index.yaml", "one", ".copy-one", "a draft", "a draft's folder")


@dataclass
class SteppedCommand:
    """A command line, begun again and again from the same state of its repository."""

    site: RefSite
    canary: Path
    words: tuple[str, ...]
    before: Callable[[], None] | None
    """What is called in its process."""

    def __post_init__(self) -> None:
        self.kept = self.site.root.with_name("kept")
        self.aside = self.site.root / ".aside"
        self.output = self.site.root / "output"
        shutil.rmtree(self.kept, ignore_errors=True)
        shutil.copytree(self.site.root / ".sow", self.kept, symlinks=True)

    def all_wrongs(self, seed: int) -> list[str]:
        """Return for each of its steps what was wrong, or nothing where all was well."""
        return list(self.wrongs(random.Random(seed)))

    def wrongs(self, chance: random.Random) -> Iterator[str]:
        """Run it once for each of its steps; yield what was wrong, or nothing where all was well.

        At each step something is swapped that lies there at that time.
        """
        for step in count(1):
            self.reset()
            before = snapshot(self.canary)
            pid = forked(self.site, self.words, self.output, lambda n=step: self.watch(n, chance))
            _, status = os.waitpid(pid, 0)
            code, text = os.waitstatus_to_exitcode(status), self.output.read_text()
            where = f"{self.words} with {self.swapped()} swapped at step {step}"
            if code not in (0, 1, 4) or "a bug" in text or "Traceback" in text:
                yield f"{where} ended with {code}: {text}"
            elif snapshot(self.canary) != before:
                yield f"{where} changed what lies outside"
                return
            elif not self.swapped():
                return
            else:
                yield ""

    def swapped(self) -> str:
        """Return what was swapped."""
        with suppress(FileNotFoundError):
            return (self.aside / "told").read_text()
        return ""

    def reset(self) -> None:
        """Put everything back as it was in the beginning."""
        shutil.rmtree(self.aside, ignore_errors=True)
        self.aside.mkdir()
        sow = self.site.root / ".sow"
        if sow.is_symlink():
            sow.unlink()
        else:
            shutil.rmtree(sow)
        shutil.copytree(self.kept, sow, symlinks=True)
        self.output.unlink(missing_ok=True)

    def watch(self, step: int, chance: random.Random) -> None:
        """Have this process swap something when it comes to a step."""
        if self.before is not None:
            self.before()
        root = str(self.site.root)
        left = step

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal left
            if left <= 0 or event not in STEPS or not is_near(arguments[0], root):
                return
            left -= 1
            if left == 0:
                self.swap(chance)

        sys.addaudithook(hook)

    def swap(self, chance: random.Random) -> None:
        """Swap something that is there."""
        sow, refs = (os.open(self.site.root / name, FLAGS) for name in (".sow", ".sow/refs"))
        root, aside = os.open(self.site.root, FLAGS), os.open(self.aside, FLAGS)
        drafts = [name for name in os.listdir(refs) if name.endswith(".tmp")]  # noqa: PTH208
        inside = self.canary / "refs"
        for target in chance.sample(TARGETS, len(TARGETS)):
            with suppress(OSError, IndexError):
                match target:
                    case ".sow":
                        Swap.made((root, target), (aside, "0"), self.canary)
                    case "refs":
                        Swap.made((sow, target), (aside, "0"), inside)
                    case "a draft":
                        Swap.made((refs, drafts[0]), (aside, "0"), inside / counterpart(drafts[0]))
                    case "a draft's folder":
                        folder = os.open(drafts[0], FLAGS, dir_fd=refs)
                        Swap.made((folder, "docs"), (aside, "0"), inside / "one/docs")
                    case name:
                        Swap.made((refs, name), (aside, "0"), inside / name)
                (self.aside / "told").write_text(target)
                return


def is_near(path: object, root: str) -> bool:
    """Whether a step is taken below a folder, or by a name in an open one."""
    if isinstance(path, int):
        return True
    return isinstance(path, str) and (not path.startswith("/") or path.startswith(root))
