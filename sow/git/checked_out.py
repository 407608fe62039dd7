"""Which branch is checked out, and whether there is another one: read from git's own files.

No process is started, unless git's files do not tell.
"""

import os
from contextlib import suppress
from pathlib import Path

from sow.errors import SowError
from sow.git.head import BRANCH, common_dir, find_git


def branch_at(root: Path) -> str | None:
    """Return the branch that git has checked out in the checkout that has `root`, if there is one.

    A branch whose name is no UTF-8 is none: no file of ours can hold it.
    """
    _, _, head = find_git(os.path.realpath(root))
    try:
        head.encode()
    except UnicodeEncodeError:
        return None
    return head.removeprefix(BRANCH) if head.startswith(BRANCH) else None


def lacks_branch(root: Path, name: str) -> bool:
    """Whether the repository that has `root` has no branch of this name. No, where nobody can tell.

    Git is asked where no file names a commit for it.
    """
    # Most projects are never asked for another branch.
    from sow.git.inert_refs import read_ref
    from sow.git.run import git_answer

    git, _, _ = find_git(os.path.realpath(root))
    ref = f"refs/heads/{name}"
    with suppress(OSError, SowError, ValueError):
        if git and read_ref(Path(common_dir(git)), ref) is not None:
            return False
    with suppress(SowError, ValueError):  # a name may hold a NUL
        return git_answer(root, "show-ref", "--verify", "--quiet", ref)[0] == 1
    return False
