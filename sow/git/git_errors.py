"""What can go wrong with git, in words that name the folder and the remedy."""

import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from sow.errors import StateError
from sow.faults import PASSING
from sow.files.scratch import temporary_place

PASSING_WORDS = (
    *map(os.strerror, sorted(PASSING)),
    ".lock': File exists",
    " died of signal ",
    "unable to write file",
    "hung up unexpectedly",
    "early EOF",
    "unexpected disconnect",
)
"""What git says of faults that pass: those of the machine, another git at work there, a child of
its own that was killed. It names no reason where it cannot write a file that it has opened."""
KILLED_CODES = frozenset(
    128 + number for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
)
"""How git ends whose last child was ended by such a signal."""
NO_REASON = (
    "Killed",
    "Terminated",
    "fatal: Could not read from remote repository.",
    "fatal: fetch-pack: invalid index-pack output",
)
"""How git's words begin where the git at the other end of a pipe has died and said nothing."""
LEAST_FREE = 1 << 20
"""With fewer free bytes a disk counts as full: git does not always say that it was."""
WITHOUT_COMMIT = "belongs to a repository without a commit"
LONGEST_QUOTE = 400
"""How many characters of git's own words an error repeats."""
REASONS = ("fatal: ", "error: ")
"""How a line of git begins that says why it failed; advice follows."""
GUESSES = ("Please make sure you have the correct access rights", "and the repository exists.")
"""What git advises whatever a remote's fault is."""


def git_fault_passes(code: int, complaint: str, folder: Path) -> bool:
    """Whether a git that failed says nothing of what it was asked: the same may succeed later.

    The one place that tells. It goes by git's words and exit code, and by a look at the disks
    that git writes to.
    """
    if code in KILLED_CODES or complaint.lstrip().startswith(NO_REASON):
        return True
    if any(words in complaint for words in PASSING_WORDS):
        return True
    return any(map(_is_full, (folder, Path(temporary_place()))))


def _is_full(folder: Path) -> bool:
    with suppress(OSError):
        disk = os.statvfs(folder)
        no_files_left = disk.f_files > 0 and disk.f_favail == 0
        return disk.f_blocks > 0 and (disk.f_bavail * disk.f_frsize < LEAST_FREE or no_files_left)
    return False


def quote_of(complaint: str) -> str:
    """Return what git says; of a long text the part from its reason on, cut between two words."""
    lines = [line for line in complaint.strip().splitlines() if line.strip()]
    text = "\n".join(lines)
    if len(text) <= LONGEST_QUOTE:
        return text
    reasons = (number for number, line in enumerate(lines) if line.startswith(REASONS))
    first = next(reasons, None)
    if first is None:
        return f"… {text[-LONGEST_QUOTE:].partition(' ')[2]}"
    rest = "\n".join(lines[first:])
    return rest if len(rest) <= LONGEST_QUOTE else f"{rest[:LONGEST_QUOTE].rpartition(' ')[0]} …"


def line_of(complaint: str) -> str:
    """Return why git says that a remote gives nothing, in one line."""
    lines = quote_of(complaint).splitlines()
    return "; ".join(line.strip() for line in lines if not line.startswith(GUESSES))


class GitMissing(StateError):
    """There is no `git` on the PATH."""

    def __init__(self) -> None:
        super().__init__(
            "git is not installed, or is not on the PATH",
            hint="Install git 2.38 or newer, or run the task without a clone (--no-clone).",
        )


class GitTooOld(StateError):
    """The installed git lacks what sow asks of it."""

    def __init__(self, version: str, needed: str) -> None:
        super().__init__(
            f"git {version} is too old: sow needs git {needed} or newer for clones and merges",
            hint="Install a newer git, or run the task without a clone (--no-clone).",
        )


class GitRefused(StateError):
    """Git ended with an error. `words` are the arguments, `complaint` what it printed on stderr."""

    def __init__(self, folder: Path, words: Sequence[str], code: int, complaint: str) -> None:
        quote = quote_of(complaint) or f"it ended with exit code {code}"
        super().__init__(
            f"git {_command(words)} failed in {folder}: {quote}",
            hint="Put right what git says, then call again.",
        )
        self.folder = folder
        self.code = code
        self.complaint = complaint
        self.passes = git_fault_passes(code, complaint, folder)


class GitKilled(StateError):
    """Git was ended by a signal, so that it has given no answer: neither yes nor no."""

    passes = True

    def __init__(self, folder: Path, words: Sequence[str], number: int) -> None:
        super().__init__(
            f"git {_command(words)} was ended by signal {number} in {folder}",
            hint="See what ended it (the machine's memory, say), then call again.",
        )


class GitTookTooLong(StateError):
    """Git did not end in the time that it was given, and was ended."""

    passes = True

    def __init__(self, folder: Path, words: Sequence[str], seconds: float) -> None:
        super().__init__(
            f"git {_command(words)} did not end within {seconds:g} s in {folder}",
            hint="See whether another git is at work in that folder, then call again.",
        )


class NoRepository(StateError):
    """A folder belongs to no git repository with a working tree."""

    def __init__(self, folder: Path, why: str) -> None:
        self.lacks_commit = why == WITHOUT_COMMIT
        super().__init__(
            f"{folder} {why}",
            hint="Tasks can have clones of their own only in a repository with at least one commit."
            " Run the task without a clone (--no-clone), or make that commit first.",
        )


def _command(words: Sequence[str]) -> str:
    """Return the command among the words given to git, behind the settings for it alone."""
    while words and words[0] == "-c":
        words = words[2:]
    return words[0] if words else ""
