"""Links put into the place of parts of `.sow/refs`, and taken away again, by one exchange each.

Owns the canary: a folder outside, whose files have the very names that sow writes and removes. It
is what the links lead to, and nothing in it may ever change.
"""

import ctypes
import os
import random
import shutil
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from refs.ref_site import RefSite

SYMLINK = os.symlink
"""Kept: a command may run in a process that can make none."""
RENAME_EXCHANGE = 2
FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
LOOKS = (0, 10, 100, 1000)
"""For how many looks at the disk a link stays, or what it hides."""
TREE = "0" * 40
DRAFT = ".one.0123456789ab.tmp"
INDEX_DRAFT = ".index.yaml.1-0123456789ab.tmp"


Name = tuple[int, str]
"""A name in an open folder: who swaps is led nowhere by a link either."""


def exchange(first: Name, other: Name) -> None:
    """Have two names change their places: by one step where the system can, else by three."""
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is None:
        between = (other[0], f"{other[1]}.between")
        for source, target in ((first, between), (other, first), (between, other)):
            move(source, target)
    elif function(first[0], first[1].encode(), other[0], other[1].encode(), RENAME_EXCHANGE) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), first[1])


def move(source: Name, target: Name) -> None:
    """Rename something."""
    os.rename(source[1], target[1], src_dir_fd=source[0], dst_dir_fd=target[0])


def make_canary(folder: Path) -> Path:
    """Make what no command may touch; return its folder, which looks like a `.sow`."""
    for top in (folder, folder / "refs"):
        for name in ("one", "two", DRAFT, "docs", "files", "trees"):
            (top / name / "docs").mkdir(parents=True)
            (top / name / "docs/style.md").write_text("Not yours.\n")
            (top / name / "docs").chmod(0o750)
        (top / "index.yaml").write_text("references: []\n# Not yours.\n")
        (top / INDEX_DRAFT).write_text("Not yours.\n")
        for name in (".copy-one", ".copy-two"):
            (top / name).write_text(f"{TREE}\n")
        (top / "style.md").write_text("Not yours.\n")
    return folder


def snapshot(folder: Path) -> dict[str, tuple[object, ...]]:
    """Return all that is in a folder: kinds, modes, times and contents."""
    found: dict[str, tuple[object, ...]] = {}
    for path in (folder, *folder.rglob("*")):
        facts = path.lstat()
        text = path.read_bytes() if stat.S_ISREG(facts.st_mode) else b""
        name = str(path.relative_to(folder))
        found[name] = (facts.st_mode, facts.st_mtime_ns, facts.st_nlink, text)
    return found


@dataclass
class Swap:
    """A link to the canary in the place of something, which waits beside."""

    target: Name
    aside: Name

    @classmethod
    def made(cls, target: Name, aside: Name, lead: Path) -> "Swap":
        """Put the link there. Raises OSError where nothing lies in that place."""
        SYMLINK(lead, aside[1], dir_fd=aside[0])
        try:
            exchange(target, aside)
        except OSError:
            os.unlink(aside[1], dir_fd=aside[0])
            raise
        return cls(target, aside)

    def undo(self) -> None:
        """Put back what lay there. What somebody has put there meanwhile goes."""
        try:
            exchange(self.target, self.aside)
        except FileNotFoundError:
            with suppress(FileNotFoundError):
                move(self.aside, self.target)
        try:
            os.unlink(self.aside[1], dir_fd=self.aside[0])
        except IsADirectoryError:
            shutil.rmtree(self.aside[1], dir_fd=self.aside[0])
        except FileNotFoundError:
            pass


@dataclass
class Swapper:
    """Somebody who may write in a repository, and wants a command to write elsewhere."""

    site: RefSite
    canary: Path
    seed: int
    swaps: int = 0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.text = self.site.index.read_bytes()
        folder = self.site.root / ".aside"
        folder.mkdir()
        self.aside = os.open(folder, FLAGS)
        """Where what is swapped waits: on the same disk."""
        self.root = os.open(self.site.root, FLAGS)
        self.sow = os.open(self.site.root / ".sow", FLAGS)
        self.refs = os.open(self.site.root / ".sow/refs", FLAGS)

    def swap_once(self) -> None:
        """Put a link somewhere for a moment."""
        lead = self.canary / "refs"
        names = self.names()
        drafts = [name for name in names if name.endswith(".tmp")]
        match self.chance.randrange(8):
            case 0:
                self.with_link((self.root, ".sow"), self.canary)
            case 1 | 2 | 3:
                self.with_link((self.sow, "refs"), lead)
            case 4 | 5:
                name = self.chance.choice(names + 3 * drafts)
                self.with_link((self.refs, name), lead / counterpart(name))
            case _:
                name = self.chance.choice(["one", *3 * drafts])
                with suppress(OSError):
                    inside = os.open(name, FLAGS, dir_fd=self.refs)
                    try:
                        self.with_link((inside, "docs"), lead / counterpart(name) / "docs")
                    finally:
                        os.close(inside)

    def with_link(self, target: Name, lead: Path) -> None:
        """Have a link lie there for a while, then put all back, as far as it is there."""
        with suppress(OSError):
            swap = Swap.made(target, (self.aside, str(self.swaps)), lead)
            self.swaps += 1
            self.linger()
            swap.undo()
            self.tidy()
        self.linger()

    def names(self) -> list[str]:
        """Return what lies in `.sow/refs`."""
        return os.listdir(self.refs)  # noqa: PTH208 - an open folder

    def tidy(self) -> None:
        """Take away links of ours that a command has renamed, as a person does who is told."""
        for name in self.names():
            with suppress(OSError):
                if os.readlink(name, dir_fd=self.refs).startswith(str(self.canary)):
                    os.unlink(name, dir_fd=self.refs)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with suppress(FileExistsError):
            index = os.open("index.yaml", flags, 0o644, dir_fd=self.refs)
            os.write(index, self.text)
            os.close(index)

    def linger(self) -> None:
        """Let pass what a command takes for a few of its steps, or for none."""
        for _ in range(self.chance.choice(LOOKS)):
            os.fstat(self.aside)


def counterpart(name: str) -> str:
    """Return what in the canary has a name of `.sow/refs`; its draft for one with a number."""
    if name.endswith(".tmp"):
        return INDEX_DRAFT if "index" in name else DRAFT
    return name
