"""Who is the author of a commit that sow makes, and who its committer."""

import os
from collections.abc import Mapping
from pathlib import Path

from sow.git.settings_text import settings_named
from sow.git.view import View
from sow.surrounding_programs import users_environment

COMMITTER = "GIT_COMMITTER_EMAIL"
FALLBACK = ("sow", "sow@localhost")
"""Where the user has told git no name: a commit must not fail for that."""

BY_NOBODY = (
    f"git knows no name of you, so the commit is by {FALLBACK[0]} <{FALLBACK[1]}>;"
    " `sow doctor` names the commands that help"
)


def _variables(author: tuple[str, str], committer: tuple[str, str]) -> Mapping[str, str]:
    return {
        "GIT_AUTHOR_NAME": author[0],
        "GIT_AUTHOR_EMAIL": author[1],
        "GIT_COMMITTER_NAME": committer[0],
        COMMITTER: committer[1],
    }


NOBODY = _variables(FALLBACK, FALLBACK)
"""For commits that only a computation sees."""


def identity_of(folder: Path, environ: Mapping[str, str] | None = None) -> Mapping[str, str]:
    """Return the variables that make git write the user's name in the repository of `folder`.

    It stands in git's settings, or in `environ` (of this process, if not given), in git's own
    order. What a running `git commit` has set for its hook is the name of that commit's author,
    and does not count. Where one of author and committer is not known, the other is taken.
    """
    author, committer = _people(folder, os.environ if environ is None else environ)
    return _variables(author or committer or FALLBACK, committer or author or FALLBACK)


def is_unknown(folder: Path, environ: Mapping[str, str]) -> bool:
    """Whether the user has told git no name, so that commits of ours are by `FALLBACK`."""
    return _people(folder, environ) == (None, None)


def note_of_nobody(view: View, commit: str) -> tuple[str, ...]:
    """Return that a commit of ours is by nobody whom git knows, in a sentence; else nothing."""
    return note_of_committer(view.text("log", "-1", "--format=%ce", commit))


def note_of_committer(address: str) -> tuple[str, ...]:
    """Return the same of a commit whose committer's address is known."""
    return (BY_NOBODY,) if address == FALLBACK[1] else ()


def _people(
    folder: Path, environ: Mapping[str, str]
) -> tuple[tuple[str, str] | None, tuple[str, str] | None]:
    """Return names and addresses of the author and the committer, as git finds them."""
    settings = settings_named(folder, r"^(user|author|committer)\.(name|email)$")
    users = users_environment(environ)

    def person(role: str) -> tuple[str, str] | None:
        name, email = (
            users.get(f"GIT_{role}_{part}".upper())
            or settings.get(f"{role}.{part}")
            or settings.get(f"user.{part}")
            for part in ("name", "email")
        )
        email = email or users.get("EMAIL")
        return (name, email) if name and email else None

    return person("author"), person("committer")
