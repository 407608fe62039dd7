"""What can be wrong with a file or a folder, in words for whoever reads of it."""

import os
from pathlib import Path

from sow.errors import StateError


class StateLocked(StateError):
    """Another process has held the lock of a folder for too long."""

    passes = True

    def __init__(self, folder: Path, timeout_seconds: float) -> None:
        self.folder = folder
        self.timeout_seconds = timeout_seconds
        super().__init__(
            f"{folder} is locked by another process (waited {timeout_seconds:g} s)",
            hint="Try again. A lock is held for one short write; `fuser` on the folder names "
            "a process that keeps it.",
        )


class FolderMissing(StateError):
    """A folder that was to be written in does not exist."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        super().__init__(
            f"{folder} does not exist",
            hint="`sow task list` shows the tasks there are; `sow init` makes a .sow folder.",
        )


class NotWritten(StateError):
    """The system refused a write; what was there before is as it was."""

    def __init__(self, path: Path, error: OSError) -> None:
        self.path = path
        self.error = error
        super().__init__(
            f"{path} was not written: {words_of(error)}",
            hint="Free space on the disk or make the folder writable, then run the same again.",
        )


class NotAFile(StateError):
    """What should be a regular file of a sensible size is something else, or cannot be read."""

    def __init__(self, path: Path, reason: str, *, hint: str = "") -> None:
        self.path = path
        self.reason = reason
        super().__init__(
            f"{path} cannot be used: {reason}",
            hint=hint or "Put a readable file in its place, or restore it with git.",
        )


class LeadsOut(NotAFile):
    """A link on the way to a file or folder leads out of the repository: it is not followed."""

    def __init__(self, link: Path, root: Path) -> None:
        self.link = link
        self.root = root
        self.target = os.path.realpath(link)
        from shlex import quote  # agents call sow all the time, and seldom meet this

        name = quote(str(link))
        copying = (
            f" If what lies there belongs in the repository, copy it: `rm {name} && cp -R"
            f" {quote(self.target)} {name}`."
            if os.path.exists(self.target)  # noqa: PTH110
            else ""
        )
        super().__init__(
            link,
            f"it is a link that leads out of the repository, to {self.target}",
            hint=f"Remove the link: `rm {name}`.{copying} Then run the same again.",
        )


def unreadable(path: Path, error: OSError) -> NotAFile:
    """Return the error of a file that the system does not let us read."""
    return NotAFile(path, words_of(error))


def words_of(error: OSError) -> str:
    """Return what the system says of a failure."""
    return (error.strerror or str(error)).lower()
