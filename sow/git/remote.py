"""A remote of the user's repository as sow itself talks with it: refs are made there, and fetched.

Owns which address that is, and that a ref is made once: nobody's is moved or overwritten. Git runs
in a git folder of ours that shares the repository's objects, so no setting of the repository acts;
those of the user say how a server is reached (`own_bare`).

Whoever may push chooses what is fetched. So it comes into a folder of its own first, of a bounded
size, and is looked at there; only what is taken is put among the repository's objects.
"""

import os
import re
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from sow.errors import StateError
from sow.files import NotWritten, read_if_there, write_atomically
from sow.git.git_errors import GitKilled, GitRefused, GitTookTooLong, line_of
from sow.git.own_bare import ANSWER_SECONDS, HOME_SETTINGS, NETWORK, network_environment
from sow.git.promised import is_partial
from sow.git.repository import Repository
from sow.git.run import LONG_SECONDS, git
from sow.git.view import View, view_of

FOLDER = Path("sow") / "travel.git"
"""Our git folder, below the repository's."""
PLACE = re.compile(r"[a-z]+://|[^/]+:")
"""How an address begins that is none of a folder."""
SHALLOW = "shallow"
"""Git's own list of the commits whose parents are not here, in a git folder."""
SHALLOW_LIMIT = 1 << 24
PASSWORD = re.compile(r"(?<=://)[^/@\s]*@")
INCOMING = "tmp_objdir-sow-"
"""How the folder begins where objects lie that come in. Git removes those that were left behind by
this name (git-prune(1)), as it does its own."""
MOST_AT_ONCE = 100
"""How many refs one push removes at most."""
FEW = 1 << 16
"""A pack of at most so many bytes becomes single objects: many packs make each git slow."""
BROKEN = "fsck error"
"""What git says of objects that are no sound ones."""
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


class NotTaken(StateError):
    """What a ref of the remote names was not taken; it stays so."""

    def __init__(self, remote: "Remote", ref: str, why: str) -> None:
        super().__init__(
            f"{ref} of the remote {remote.name} was not taken: {why}",
            hint="Nothing of it is here. Whoever has pushed it can tell what it is.",
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

    @property
    def _objects(self) -> Path:
        return self.repository.common_dir / "objects"

    def _talk(
        self,
        deed: str,
        *words: str,
        seconds: float = LONG_SECONDS,
        variables: Mapping[str, str] | None = None,
        settings: Sequence[str] = (),
        largest_file: int | None = None,
    ) -> str:
        _make_folder(self.folder, self.repository)
        own = variables or {"GIT_OBJECT_DIRECTORY": str(self._objects)}
        try:
            return git(
                self.folder,
                *words,
                environ={**network_environment(os.environ, self.folder), **own},
                settings=(*NETWORK, *settings),
                seconds=seconds,
                largest_file=largest_file,
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

    def remove_refs(self, refs: Collection[str], *, below: str) -> list[str]:
        """Remove those of some refs that the remote has, all below one name; return them.

        Raises RemoteRefused; some may be gone then.
        """
        answer = self._talk("asking", "ls-remote", "--", self.url, f"{below}/*")
        there = {line.partition("\t")[2] for line in answer.splitlines()}
        meant = sorted(there.intersection(refs))
        words = ("push", "--quiet", "--no-verify", "--recurse-submodules=no", "--no-follow-tags")
        for begin in range(0, len(meant), MOST_AT_ONCE):
            gone = [f":{ref}" for ref in meant[begin : begin + MOST_AT_ONCE]]
            self._talk("removing refs of", *words, "--", self.url, *gone)
        return meant

    def fetch(
        self, ref: str, commit: str, *, most: int, look: Callable[[View], None] = lambda _: None
    ) -> None:
        """Have here what a ref of the remote names, if that is this commit.

        Nothing here names it then: whoever wants to keep it gives it a name. Nothing of it stays
        where git finds objects that are no sound ones, where they take more than `most` bytes, and
        where `look` raises, which sees them. Raises NotTaken, StateError where the ref names
        another commit; RemoteRefused, NotWritten.
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
        incoming = self._objects / f"{INCOMING}{os.urandom(4).hex()}"
        try:
            (incoming / "pack").mkdir(parents=True)
            self._fetch_into(incoming, ref, commit, most, look)
            self._take(incoming)
        except OSError as error:
            raise NotWritten(incoming, error) from error
        finally:
            shutil.rmtree(incoming, ignore_errors=True)

    def _fetch_into(
        self, incoming: Path, ref: str, commit: str, most: int, look: Callable[[View], None]
    ) -> None:
        """Fetch what is missing here into a folder of objects, and look at it."""
        deed = "fetching from"
        variables = {"GIT_OBJECT_DIRECTORY": str(incoming)}
        if not is_partial(self.repository):  # else the remote takes it to have what it lacks
            variables["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = _quoted(self._objects)
        words = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--refmap=")
        try:
            self._talk(
                *(deed, *words, "--recurse-submodules=no", "--", self.url, ref),
                variables=variables,
                settings=("fetch.unpackLimit=1",),  # into one file, whose size is limited
                largest_file=most,
            )
        except RemoteRefused as error:
            if any(path.stat().st_size >= most for path in (incoming / "pack").iterdir()):
                raise NotTaken(self, ref, f"it has more than {most >> 20} MB") from error
            if BROKEN in error.message:
                raise NotTaken(self, ref, error.message) from error
            raise
        view = View(self.folder, {"GIT_DIR": str(self.folder), **variables})
        if view.commit_of(commit) != commit:
            raise RemoteRefused(self, deed, f"{commit} did not come")
        look(view)

    def _take(self, incoming: Path) -> None:
        """Put what came in among the repository's objects; a pack is there with its index."""
        for pack in (incoming / "pack").glob("*.pack"):
            if pack.stat().st_size <= FEW:
                view = view_of(self.repository.top)
                view.raw("unpack-objects", "-q", stdin=pack.read_bytes(), seconds=LONG_SECONDS)
                continue
            for path in sorted(pack.parent.glob(f"{pack.stem}.*"), key=_is_index):
                path.replace(self._objects / "pack" / path.name)


def remote_of(repository: Repository, name: str) -> Remote:
    """Return a remote of a repository. Raises NoRemote, GitRefused."""
    view = view_of(repository.top)
    url = view.text("config", "--get", f"remote.{name}.url", accepted=(0, 1))
    if not url or url.startswith("-"):
        raise NoRemote(repository.top, name)
    if not PLACE.match(url):
        url = str(repository.top / url)
    return Remote(name, url, repository)


def _is_index(path: Path) -> bool:
    return path.suffix == ".idx"


def _quoted(path: Path) -> str:
    """Return a path as a list of folders has it, which colons part."""
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _make_folder(folder: Path, repository: Repository) -> None:
    """Make our git folder, if it is not there. No git is run for it. Raises NotWritten.

    Where the repository lacks a part of its history, the folder says so as well.
    """
    shallow = read_if_there(repository.common_dir / SHALLOW, SHALLOW_LIMIT)
    try:
        if not (folder / "config").exists():
            (folder / "refs").mkdir(parents=True, exist_ok=True)
            (folder / "HEAD").write_text("ref: refs/heads/nothing\n")
            settings = HOME_SETTINGS.format(object_format=repository.object_format)
            write_atomically(folder / "config", settings.encode())
        if shallow is not None:
            write_atomically(folder / SHALLOW, shallow)
        else:
            (folder / SHALLOW).unlink(missing_ok=True)
    except OSError as error:
        raise NotWritten(folder, error) from error
