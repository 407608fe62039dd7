"""Who is the author of a commit that sow makes."""

from collections.abc import Mapping
from pathlib import Path

from sow.git.run import git

FALLBACK = ("sow", "sow@localhost")
"""Where the user has told git no name: a commit must not fail for that."""


def _variables(name: str, address: str) -> Mapping[str, str]:
    return {
        "GIT_AUTHOR_NAME": name,
        "GIT_AUTHOR_EMAIL": address,
        "GIT_COMMITTER_NAME": name,
        "GIT_COMMITTER_EMAIL": address,
    }


NOBODY = _variables(*FALLBACK)
"""For commits that only a computation sees."""


def identity_of(folder: Path) -> Mapping[str, str]:
    """Return the variables that make git write the user's name of the repository of `folder`."""
    words = ("config", "-z", "--get-regexp", r"^user\.(name|email)$")
    entries = git(folder, *words, accepted=(0, 1)).split("\0")
    found = {key: value for key, _, value in (entry.partition("\n") for entry in entries)}
    name, address = found.get("user.name"), found.get("user.email")
    if not name or not address:
        name, address = FALLBACK
    return _variables(name, address)
