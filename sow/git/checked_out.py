"""Which branch is checked out, and whether there is another one: read from git's own files.

No process is started, unless the branches are kept in a form that only git reads.
"""

from pathlib import Path

from sow.errors import SowError
from sow.files import read_regular

LIMIT = 1 << 16
"""No HEAD, and no file that names a git folder, is longer."""
PACKED_LIMIT = 1 << 26


def branch_at(root: Path) -> str | None:
    """Return the branch that git has checked out at `root`, if there is one.

    Reads `ref: refs/heads/NAME` (gitrepository-layout(5)).
    """
    try:
        head = read_regular(_git_folder(root) / "HEAD", LIMIT).decode().strip()
    except (OSError, SowError, ValueError):  # a path that is none raises ValueError
        return None
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else None


def lacks_branch(root: Path, name: str) -> bool:
    """Whether the repository at `root` has no branch of this name. No, where nobody can tell."""
    try:
        git = _git_folder(root)
        if (git / "commondir").is_file():
            git = git / read_regular(git / "commondir", LIMIT).decode().strip()
        if not (git / "HEAD").exists():
            return False
        if (git / "reftable").exists():
            from sow.git.run import git_answer  # few repositories keep them so

            words = ("show-ref", "--verify", "--quiet", f"refs/heads/{name}")
            return git_answer(root, *words)[0] == 1
        if (git / "refs/heads" / name).exists():
            return False
        packed = git / "packed-refs"
        listed = read_regular(packed, PACKED_LIMIT) if packed.exists() else b""
    except (OSError, SowError, ValueError):
        return False
    return f" refs/heads/{name}\n".encode() not in listed


def _git_folder(root: Path) -> Path:
    """Return the folder of a working tree's own git files."""
    git = root / ".git"
    if not git.is_file():
        return git
    link = read_regular(git, LIMIT).decode()
    return root / link.removeprefix("gitdir:").strip()
