"""A bare repository that sow keeps for itself, and the remote that it is fetched from.

Owns what such a repository is (its settings are written here, none come from the
remote) and the two ways in which git runs on it. At home none of the user's
settings count. Over the network those count that say how to reach a server
(credential helpers, ssh, proxies), which every other git of ours does without; a
remote decides nothing either way, and no protocol but these three is spoken.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from sow.files import NotWritten, read_if_there
from sow.git.git_errors import GitRefused
from sow.git.repository import SHA1, SHA256
from sow.git.run import QUIET, git, git_environment, git_talking
from sow.git.settings_text import quoted
from sow.git.view import View

REMOTE = "sow-reference"
"""A name of our own, so that nothing in the user's settings is about a remote of that name."""
PROTOCOLS = ("https", "ssh", "file")
ANSWER_SECONDS = 60.0
"""How long a server may take to say which branches it has."""
OWN_WAY = ("core.sshCommand=", "credential.helper=")
"""What `QUIET` takes from the user, and a server may need."""
OLD_FAULTS = (
    "badDateOverflow",
    "badEmail",
    "badTimezone",
    "missingEmail",
    "missingNameBeforeEmail",
    "missingSpaceBeforeDate",
    "missingSpaceBeforeEmail",
    "zeroPaddedDate",
    "zeroPaddedFilemode",
)
"""What git's own check finds in the history of many a well-known repository: it harms nobody."""
NETWORK = (
    *(setting for setting in QUIET if not setting.startswith(OWN_WAY)),
    "protocol.allow=never",
    *(f"protocol.{name}.allow=always" for name in PROTOCOLS),
    *(f"fetch.fsck.{name}=ignore" for name in OLD_FAULTS),
    "fetch.writeCommitGraph=false",
    "transfer.bundleURI=false",
)
"""The settings of a git that talks with a server."""
OF_THE_USER = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH")
"""The user's variables that say how to reach a server."""

SETTINGS = """\
[core]
	repositoryFormatVersion = 1
	bare = true
	logAllRefUpdates = false
[extensions]
	objectFormat = {object_format}
	partialClone = {remote}
[remote "{remote}"]
	url = {url}
	promisor = true
	partialCloneFilter = blob:none
	tagOpt = --no-tags
"""
HOME = "home"
"""A git folder in it with the same objects and without a remote: what is missing there is missing,
and no git tries to fetch it, or gives up because it may not."""
HOME_SETTINGS = """\
[core]
	repositoryFormatVersion = 1
	bare = true
[extensions]
	objectFormat = {object_format}
"""
SETTINGS_LIMIT = 1 << 16


class OwnBare(View, frozen=True):
    """A bare repository of ours, seen from home: what git is asked here fetches nothing."""

    @property
    def object_format(self) -> str:
        """How its objects are named. Settings that cannot be read are told by git, when it runs."""
        settings = read_if_there(self.folder / HOME / "config", SETTINGS_LIMIT) or b""
        return SHA256 if f"objectFormat = {SHA256}".encode() in settings else SHA1

    def from_remote(self, *words: str, seconds: float, stdin: bytes | None = None) -> str:
        """Run a git that talks with the remote, and return what it prints. Raises as `git`."""
        environ = network_environment(os.environ, self.folder)
        return git(
            self.folder, *words, environ=environ, settings=NETWORK, seconds=seconds, stdin=stdin
        )

    @contextmanager
    def contents(self) -> Iterator["Contents"]:
        """Give what reads the contents of objects that are here."""
        words = ("cat-file", "--batch")
        with git_talking(self.folder, *words, environ=self.environ()) as process:
            assert process.stdin is not None  # noqa: S101 - both are pipes
            assert process.stdout is not None  # noqa: S101 - likewise
            yield Contents(self.folder, process.stdin, process.stdout)

    @contextmanager
    def talking(self, *words: str) -> Iterator[IO[bytes]]:
        """Give what git prints while it prints it, however much that is. It is to be read whole.

        Raises GitRefused at the end where git has not ended well.
        """
        with git_talking(self.folder, *words, environ=self.environ()) as process:
            assert process.stdout is not None  # noqa: S101 - it is a pipe
            yield process.stdout
            if code := process.wait():
                raise GitRefused(self.folder, words, code, "an object is missing or broken")


def own_bare(folder: Path) -> OwnBare:
    """Return the repository of ours in a folder. None of the user's settings count there."""
    variables = {
        "GIT_DIR": str(folder / HOME),
        "GIT_OBJECT_DIRECTORY": str(folder / "objects"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_COUNT": "0",
        "GIT_ATTR_NOSYSTEM": "1",
    }
    return OwnBare(folder, variables)


def network_environment(environ: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return the variables of a git that talks with a server: nobody is asked anything."""
    own = {name: environ[name] for name in OF_THE_USER if name in environ}
    return git_environment(
        environ,
        GIT_DIR=str(folder),
        GIT_ALLOW_PROTOCOL=":".join(PROTOCOLS),
        SSH_ASKPASS_REQUIRE="force",  # the program in SSH_ASKPASS, which is mute, never a terminal
        **own,
    )


class Contents:
    """Objects, read one after the other from a git that stays."""

    def __init__(self, folder: Path, asking: IO[bytes], answering: IO[bytes]) -> None:
        self._folder = folder
        self._asking = asking
        self._answering = answering

    def begin(self, oid: str) -> int:
        """Ask for an object, and return its size in bytes. Raises GitRefused where it is not here.

        All of it has to be read, by `piece`, before the next is asked for.
        """
        try:
            self._asking.write(f"{oid}\n".encode())
            self._asking.flush()
        except BrokenPipeError:
            raise self._torn() from None
        words = self._answering.readline().split()
        if len(words) != 3 or not words[2].isdigit():
            raise self._torn()
        return int(words[2])

    def piece(self, most: int) -> bytes:
        """Return so many bytes of it. Raises GitRefused where git ends in the middle."""
        data = self._answering.read(most)
        if len(data) != most:
            raise self._torn()
        return data

    def end(self) -> None:
        """Read the line end behind an object."""
        self.piece(1)

    def whole(self, oid: str, limit: int) -> bytes | None:
        """Return an object; None where it is larger than `limit`, and is passed over."""
        size = self.begin(oid)
        if size > limit:
            left = size
            while left:
                left -= len(self.piece(min(left, 1 << 20)))
            self.end()
            return None
        data = self.piece(size)
        self.end()
        return data

    def _torn(self) -> GitRefused:
        return GitRefused(self._folder, ("cat-file",), -1, "an object is missing or broken")


def make_bare(folder: Path, url: str, object_format: str) -> OwnBare:
    """Make an empty repository in a folder that is not there yet. Raises NotWritten.

    No git is run for it: what `git init` copies from the user's template would be hooks.
    """
    try:
        for name in ("objects/pack", "objects/info", "refs/heads", "refs/kept", f"{HOME}/refs"):
            (folder / name).mkdir(parents=True)
        for each in (folder, folder / HOME):
            (each / "HEAD").write_text("ref: refs/heads/nothing\n")
        (folder / HOME / "config").write_text(HOME_SETTINGS.format(object_format=object_format))
        text = SETTINGS.format(remote=REMOTE, url=quoted(url), object_format=object_format)
        (folder / "config").write_text(text, "utf-8", "surrogateescape")
    except OSError as error:
        raise NotWritten(folder, error) from error
    return own_bare(folder)
