"""Which branch is checked out, read from git's own file: no process is started."""

from pathlib import Path

from sow.errors import SowError
from sow.files import read_regular

LIMIT = 1 << 16
"""No HEAD, and no file that names a git folder, is longer."""


def branch_at(root: Path) -> str | None:
    """Return the branch that git has checked out at `root`, if there is one.

    Reads `ref: refs/heads/NAME` (gitrepository-layout(5)).
    """
    git = root / ".git"
    try:
        if git.is_file():
            link = read_regular(git, LIMIT).decode()
            git = root / link.removeprefix("gitdir:").strip()
        head = read_regular(git / "HEAD", LIMIT).decode().strip()
    except (OSError, SowError, ValueError):  # a path that is none raises ValueError
        return None
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else None
