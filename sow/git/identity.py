"""Who is the author of a commit that sow makes."""

from collections.abc import Mapping
from pathlib import Path

from sow.git.run import git

FALLBACK = ("sow", "sow@localhost")
"""Where the user has told git no name: a commit must not fail for that."""


def identity_of(folder: Path) -> Mapping[str, str]:
    """Return the variables that make git write the user's name of the repository of `folder`."""
    name = git(folder, "config", "--get", "user.name", accepted=(0, 1))
    address = git(folder, "config", "--get", "user.email", accepted=(0, 1))
    if not name or not address:
        name, address = FALLBACK
    return {
        "GIT_AUTHOR_NAME": name,
        "GIT_AUTHOR_EMAIL": address,
        "GIT_COMMITTER_NAME": name,
        "GIT_COMMITTER_EMAIL": address,
    }
