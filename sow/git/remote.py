"""A remote of the user's repository as sow itself talks with it: refs are made there, and fetched.

Owns which address that is, and that a ref is made once: nobody's is moved or overwritten. Git runs
in a git folder of ours that shares the repository's objects, so no setting of the repository acts;
those of the user say how a server is reached (`own_bare`).
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from sow.errors import StateError
from sow.files import NotWritten
from sow.git.git_errors import GitKilled, GitRefused, GitTookTooLong, line_of
from sow.git.own_bare import ANSWER_SECONDS, HOME_SETTINGS, NETWORK, network_environment
from sow.git.repository import Repository
from sow.git.run import LONG_SECONDS, git
from sow.git.view import view_of

FOLDER = Path("sow") / "travel.git"
"""Our git folder, below the repository's."""
PLACE = re.compile(r"[a-z]+://|[^/]+:")
"""How an address begins that is none of a folder."""
PASSWORD = re.compile(r"(?<=://)[^/@\s]*@")
COMMIT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")


class NoRemote(StateError):
    """The repository has no remote of the name."""

    def __init__(self, top: Path, name: str) -> None:
        super().__init__(
            f"{top} has no remote {name}, by which work goes to other hosts",
            hint=f"Add it (`git remote add {name} URL`), or name another: `queue: {{remote: …}}` in"
            " your configuration. A task that stays on this machine needs none (--no-clone).",
        )


class RemoteRefused(StateError):
    """The remote cannot be reached, or takes or gives nothing."""

    passes = True

    def __init__(self, remote: "Remote", deed: str, why: str) -> None:
        super().__init__(
            f"{deed} the remote {remote.name} ({PASSWORD.sub('', remote.url)}) failed:"
            f" {PASSWORD.sub('', why)}",
            hint="Put right what git says. Try it: `git ls-remote"
            f" {remote.name}`, `git push --dry-run {remote.name} HEAD:refs/sow/try`.",
        )


class RefIsTaken(StateError):
    """A ref that is made once has another commit already."""

    def __init__(self, remote: "Remote", ref: str, there: str) -> None:
        super().__init__(
            f"{ref} of the remote {remote.name} has another commit already: {there}",
            hint="Nothing of it was changed. Whoever has made it worked on the same attempt.",
        )


class Remote(Struct, frozen=True):
    """A remote of a repository: its name there, and its address."""

    name: str
    url: str
    repository: Repository

    @property
    def folder(self) -> Path:
        """Our git folder."""
        return self.repository.common_dir / FOLDER

    def _environ(self) -> Mapping[str, str]:
        objects = str(self.repository.common_dir / "objects")
        environ = network_environment(os.environ, self.folder)
        return {**environ, "GIT_OBJECT_DIRECTORY": objects}

    def _talk(self, deed: str, *words: str, seconds: float = LONG_SECONDS) -> str:
        _make_folder(self.folder, self.repository.object_format)
        try:
            return git(
                self.folder, *words, environ=self._environ(), settings=NETWORK, seconds=seconds
            )
        except GitRefused as error:
            why = line_of(error.complaint) or error.message
        except (GitTookTooLong, GitKilled) as error:
            why = error.message
        raise RemoteRefused(self, deed, why)

    def commit_of(self, ref: str) -> str | None:
        """Return what a ref of the remote names; None where there is none. Raises RemoteRefused."""
        answer = self._talk("asking", "ls-remote", "--", self.url, ref, seconds=ANSWER_SECONDS)
        found = dict(line.split("\t")[::-1] for line in answer.splitlines() if "\t" in line)
        return found.get(ref)

    def make_ref(self, ref: str, commit: str) -> None:
        """Have a new ref of the remote name a commit. Done twice, it changes nothing more.

        Raises RefIsTaken, RemoteRefused.
        """
        words = ("push", "--quiet", "--no-verify", "--recurse-submodules=no", "--no-follow-tags")
        only_new = f"--force-with-lease={ref}:"
        try:
            self._talk("pushing to", *words, only_new, "--", self.url, f"{commit}:{ref}")
        except RemoteRefused as error:
            try:
                there = self.commit_of(ref)
            except RemoteRefused:
                there = None
            if there is None:
                raise error from None
            if there != commit:
                raise RefIsTaken(self, ref, there) from None

    def fetch(self, ref: str, commit: str) -> None:
        """Have here what a ref of the remote names, if that is this commit.

        Nothing here names it then: whoever wants to keep it gives it a name. Objects that are no
        sound ones are refused. Raises StateError where the ref names another commit; RemoteRefused.
        """
        if not COMMIT.fullmatch(commit):
            raise StateError(f"{commit[:80]!r} is no commit")
        if (there := self.commit_of(ref)) != commit:
            names = "is not there" if there is None else f"names {there}"
            raise StateError(
                f"{ref} of the remote {self.name} {names}, and not {commit}",
                hint="Somebody has changed or removed that ref. Look there: `git ls-remote"
                f" {self.name} 'refs/sow/*'`.",
            )
        words = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--refmap=")
        self._talk("fetching from", *words, "--recurse-submodules=no", "--", self.url, ref)
        if view_of(self.repository.top).commit_of(commit) != commit:
            raise RemoteRefused(self, "fetching from", f"{commit} did not come")


def remote_of(repository: Repository, name: str) -> Remote:
    """Return a remote of a repository. Raises NoRemote, GitRefused."""
    view = view_of(repository.top)
    url = view.text("config", "--get", f"remote.{name}.url", accepted=(0, 1))
    if not url or url.startswith("-"):
        raise NoRemote(repository.top, name)
    if not PLACE.match(url):
        url = str(repository.top / url)
    return Remote(name, url, repository)


def _make_folder(folder: Path, object_format: str) -> None:
    """Make our git folder, if it is not there. No git is run for it. Raises NotWritten."""
    if (folder / "config").exists():
        return
    try:
        (folder / "refs").mkdir(parents=True, exist_ok=True)
        (folder / "HEAD").write_text("ref: refs/heads/nothing\n")
        draft = folder / f".config.{os.urandom(4).hex()}"
        draft.write_text(HOME_SETTINGS.format(object_format=object_format))
        draft.rename(folder / "config")
    except OSError as error:
        raise NotWritten(folder, error) from error
