"""Where a git of ours runs: a folder, and the variables that tell it which repository it sees.

The same functions can so be asked of the user's own repository and, through
`private_view`, of a clone that must not be trusted.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from sow.git.git_errors import GitRefused
from sow.git.run import QUICK_SECONDS, git_answer, git_environment

WITH_PATTERNS = {"GIT_LITERAL_PATHSPECS": "0"}
"""What a command needs whose paths are patterns: a view takes them as they are."""


class View(Struct, frozen=True):
    """A folder to run git in. Paths that are given to git are taken as they are, never as patterns.

    `variables` come on top of `git_environment`.
    """

    folder: Path
    variables: Mapping[str, str]

    def answer(
        self,
        *words: str,
        seconds: float = QUICK_SECONDS,
        stdin: bytes | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes, str]:
        """Run git as `git_answer` does; `variables` are for this command only."""
        more = {"GIT_LITERAL_PATHSPECS": "1", **self.variables, **(variables or {})}
        environ = git_environment(os.environ, **more)
        return git_answer(self.folder, *words, seconds=seconds, stdin=stdin, environ=environ)

    def raw(
        self,
        *words: str,
        seconds: float = QUICK_SECONDS,
        stdin: bytes | None = None,
        variables: Mapping[str, str] | None = None,
        accepted: Sequence[int] = (0,),
    ) -> bytes:
        """Run git and return the bytes that it prints. Raises as `git` does."""
        code, output, complaint = self.answer(
            *words, seconds=seconds, stdin=stdin, variables=variables
        )
        if code not in accepted:
            raise GitRefused(self.folder, words, code, complaint)
        return output

    def text(
        self,
        *words: str,
        seconds: float = QUICK_SECONDS,
        stdin: bytes | None = None,
        variables: Mapping[str, str] | None = None,
        accepted: Sequence[int] = (0,),
    ) -> str:
        """Run git and return what it prints, without the last newline. Raises as `git` does."""
        output = self.raw(
            *words, seconds=seconds, stdin=stdin, variables=variables, accepted=accepted
        )
        return named(output).removesuffix("\n")

    def records(
        self,
        *words: str,
        seconds: float = QUICK_SECONDS,
        stdin: bytes | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> list[str]:
        """Run git and return what it prints, split at each NUL. Raises as `git` does."""
        output = self.raw(*words, seconds=seconds, stdin=stdin, variables=variables)
        return list(split_records(output))

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


def split_records(output: bytes) -> Iterator[str]:
    """Yield what git prints with `-z`."""
    if output:
        yield from (named(record) for record in output.removesuffix(b"\0").split(b"\0"))
