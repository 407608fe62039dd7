"""Who is the author of a commit that sow makes, and who its committer."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from sow.git.settings_text import settings_named
from sow.git.view import View
from sow.surrounding_programs import users_environment

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
        "GIT_COMMITTER_EMAIL": committer[1],
    }


NOBODY = _variables(FALLBACK, FALLBACK)
"""For commits that only a computation sees."""


class Given(Struct, frozen=True):
    """What the user has told git: in its settings, and in the environment."""

    settings: Mapping[str, str]
    environ: Mapping[str, str]

    def person(self, role: str) -> tuple[str, str] | None:
        """Return name and address of the author or the committer, as git finds them."""
        name, address = next(self._all(role, "name")), next(self._all(role, "email"))
        return (name, address) if name and address else None

    def _all(self, role: str, part: str) -> Iterator[str]:
        yield from filter(None, (self.environ.get(f"GIT_{role}_{part}".upper()),))
        yield from filter(None, (self.settings.get(f"{who}.{part}") for who in (role, "user")))
        if part == "email":
            yield from filter(None, (self.environ.get("EMAIL"),))
        yield ""


def identity_of(folder: Path, environ: Mapping[str, str] | None = None) -> Mapping[str, str]:
    """Return the variables that make git write the user's name in the repository of `folder`.

    It stands in git's settings, or in `environ` (of this process, if not given), in git's own
    order. What a running `git commit` has set for its hook is the name of that commit's author,
    and does not count. Where one of author and committer is not known, the other is taken.
    """
    given = _given(folder, os.environ if environ is None else environ)
    author, committer = given.person("author"), given.person("committer")
    return _variables(author or committer or FALLBACK, committer or author or FALLBACK)


def is_unknown(folder: Path, environ: Mapping[str, str]) -> bool:
    """Whether the user has told git no name, so that commits of ours are by `FALLBACK`."""
    given = _given(folder, environ)
    return given.person("author") is None and given.person("committer") is None


def note_of_nobody(view: View, commit: str) -> tuple[str, ...]:
    """Return that a commit of ours is by nobody whom git knows, in a sentence; else nothing."""
    committer = view.text("log", "-1", "--format=%ce", commit)
    return (BY_NOBODY,) if committer == FALLBACK[1] else ()


def _given(folder: Path, environ: Mapping[str, str]) -> Given:
    found = settings_named(folder, r"^(user|author|committer)\.(name|email)$")
    return Given(found, users_environment(environ))
