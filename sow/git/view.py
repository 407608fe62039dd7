"""Where a git of ours runs: a folder, and the variables that tell it which repository it sees.

The same functions can so be asked of the user's own repository and, through
`private_view`, of a clone that must not be trusted.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Unpack

from msgspec import Struct

from sow.git.git_errors import GitRefused
from sow.git.run import QUICK_SECONDS, Options, git_answer, git_bounded, git_environment

WITH_PATTERNS = {"GIT_LITERAL_PATHSPECS": "0"}
"""What a command needs whose paths are patterns: a view takes them as they are."""


class ViewOptions(Options, total=False):
    """The same for a command in a view."""

    variables: Mapping[str, str] | None
    """They are for this command only."""


class View(Struct, frozen=True):
    """A folder to run git in. Paths that are given to git are taken as they are, never as patterns.

    `variables` come on top of `git_environment`.
    """

    folder: Path
    variables: Mapping[str, str]

    def environ(self, variables: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the variables of a git that runs here."""
        more = {"GIT_LITERAL_PATHSPECS": "1", **self.variables, **(variables or {})}
        return git_environment(os.environ, **more)

    def answer(
        self, *words: str, variables: Mapping[str, str] | None = None, **options: Unpack[Options]
    ) -> tuple[int, bytes, str]:
        """Run git as `git_answer` does; `variables` are for this command only."""
        return git_answer(self.folder, *words, environ=self.environ(variables), **options)

    def raw(
        self, *words: str, accepted: Sequence[int] = (0,), **options: Unpack[ViewOptions]
    ) -> bytes:
        """Run git and return the bytes that it prints. Raises as `git` does."""
        code, output, complaint = self.answer(*words, **options)
        if code not in accepted:
            raise GitRefused(self.folder, words, code, complaint)
        return output

    def text(
        self, *words: str, accepted: Sequence[int] = (0,), **options: Unpack[ViewOptions]
    ) -> str:
        """Run git and return what it prints, without the last newline. Raises as `git` does."""
        return named(self.raw(*words, accepted=accepted, **options)).removesuffix("\n")

    def records(
        self, *words: str, accepted: Sequence[int] = (0,), **options: Unpack[ViewOptions]
    ) -> list[str]:
        """Run git and return what it prints, split at each NUL. Raises as `git` does."""
        return split_records(self.raw(*words, accepted=accepted, **options))

    def bounded(self, *words: str, most: int, seconds: float = QUICK_SECONDS) -> bytes | None:
        """Return what git prints; None where that is more than `most` bytes, or takes longer.

        What others have committed may be small, and a list of it without end. Raises as `git`.
        """
        return git_bounded(self.folder, *words, environ=self.environ(), most=most, seconds=seconds)

    def commit_of(self, name: str) -> str | None:
        """Return the commit that a name stands for; None where there is none."""
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        code, output, _ = self.answer(*words)
        return output.decode().strip() if code == 0 else None

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Whether one commit is an ancestor of another, or the same. Raises GitRefused."""
        if older == newer:
            return True
        code, _, complaint = self.answer("merge-base", "--is-ancestor", older, newer)
        if code not in (0, 1):
            raise GitRefused(self.folder, ("merge-base",), code, complaint)
        return code == 0


def view_of(folder: Path) -> View:
    """Return the view of a repository that can be trusted: the user's own, as it is."""
    return View(folder, {})


def named(path: bytes) -> str:
    """Return the name of a file as Python has it, whatever bytes it is made of."""
    return path.decode("utf-8", "surrogateescape")


def as_records(paths: Sequence[str]) -> bytes:
    """Return paths as git reads them from its standard input with `-z`."""
    return b"".join(path.encode("utf-8", "surrogateescape") + b"\0" for path in paths)


def split_records(output: bytes) -> list[str]:
    """Return what git prints with `-z`."""
    return [named(record) for record in output.removesuffix(b"\0").split(b"\0") if output]
