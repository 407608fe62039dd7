"""Whether a task's clone is as its last check has found it.

Owns what tells that somebody has committed there since. Reads git's files alone, and runs no git.
"""

from pathlib import Path

from sow.errors import SowError
from sow.git.inert_refs import read_head
from sow.schema.task import CheckRecord


def is_as_checked(clone: Path, branch: str, check: CheckRecord) -> bool:
    """Whether nothing was committed in a clone since its last check; True where nobody can tell.

    That may have begun beside the task's branch, and then says so. Where files differed from
    its commit, the check itself may have committed them: only what came later counts.
    """
    git_dir = clone / ".git"
    try:
        here = read_head(git_dir).commit
        if here in (None, check.commit) or check.commit is None:
            return True
        if not check.dirty:
            return False
        moved_at = (git_dir / "refs" / "heads" / branch).lstat().st_mtime
    except (SowError, OSError):
        return True
    return moved_at < check.at.timestamp() + 1  # it is of whole seconds
