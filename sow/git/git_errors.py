"""What can go wrong with git, in words that name the folder and the remedy."""

import os
from collections.abc import Sequence
from pathlib import Path

from sow.errors import StateError
from sow.faults import PASSING

PASSING_WORDS = (*map(os.strerror, sorted(PASSING)), ".lock': File exists")
"""What git says of faults that pass: those of the machine, and another git at work there."""
LONGEST_QUOTE = 400
"""How many characters of git's own words an error repeats."""


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
        lines = [line for line in complaint.strip().splitlines() if line.strip()]
        quote = "\n".join(lines)[-LONGEST_QUOTE:] or f"it ended with exit code {code}"
        super().__init__(
            f"git {_command(words)} failed in {folder}: {quote}",
            hint="Put right what git says, then call again.",
        )
        self.folder = folder
        self.code = code
        self.complaint = complaint
        self.passes = any(words in complaint for words in PASSING_WORDS)


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
