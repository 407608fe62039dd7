"""What this user has accepted: a hash for each workspace, in the user's configuration folder.

Owns that file, `trust.json`. It lies beside the user's configuration, where a
repository, and an agent that edits it, does not reach by editing its own files.
"""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from sow.errors import ConfigurationError, StateError
from sow.files import NotAFile, locked_folder, read_regular, write_atomically
from sow.paths import Workspace, display_path, user_config_path
from sow.schema.config import RepositoryConfigFile
from sow.trust.command_lines import command_lines, text_of

FILE = "trust.json"
FILE_LIMIT = 1 << 22
"""The largest such file that is read, in bytes; a workspace takes some 150."""


class TrustFile(msgspec.Struct, frozen=True, kw_only=True):
    """The whole of `trust.json`."""

    accepted: dict[str, str] = {}
    """By the workspace's root, without links: the hash of the accepted text."""


class NotTrusted(StateError):
    """The repository's command lines are not those that this user has accepted."""

    def __init__(self, path: Path, *, changed: bool) -> None:
        how = "have changed since they were accepted" if changed else "are not accepted yet"
        super().__init__(
            f"the command lines in {path} {how}; `sow trust` shows them and asks",
            hint="They run as you, so they wait for your word.",
        )


class TrustFileBroken(ConfigurationError):
    """`trust.json` cannot be read, so nobody knows what was accepted."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{display_path(path)} cannot be used: {reason}",
            hint="Mend or remove that file; then `sow trust` in each of your repositories.",
        )


def trust_file(environ: Mapping[str, str]) -> Path:
    """Return where the file lies: beside the user's configuration."""
    return user_config_path(environ).with_name(FILE)


def is_accepted(workspace: Workspace, text: str, environ: Mapping[str, str]) -> bool:
    """Whether this user has accepted a text for a workspace; nothing needs no word.

    Raises TrustFileBroken.
    """
    return not text or _read(trust_file(environ)).accepted.get(_key(workspace)) == _hash(text)


def refuse_untrusted(
    workspace: Workspace, content: RepositoryConfigFile, environ: Mapping[str, str]
) -> None:
    """Refuse to run what this user has not accepted. Raises NotTrusted, TrustFileBroken."""
    if not is_accepted(workspace, text_of(command_lines(content)), environ):
        before = _read(trust_file(environ)).accepted.get(_key(workspace))
        raise NotTrusted(workspace.repository_config, changed=before is not None)


def accept(workspace: Workspace, text: str, environ: Mapping[str, str]) -> None:
    """Remember that this user accepts a text. Raises TrustFileBroken, StateError."""
    path = trust_file(environ)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise TrustFileBroken(path, f"its folder cannot be made: {error.strerror}") from error
    with locked_folder(path.parent):
        accepted = {**_read(path).accepted, _key(workspace): _hash(text)}
        data = msgspec.json.encode(TrustFile(accepted=accepted))
        write_atomically(path, msgspec.json.format(data) + b"\n", mode=0o600)


def _read(path: Path) -> TrustFile:
    try:
        return msgspec.json.decode(read_regular(path, FILE_LIMIT), type=TrustFile)
    except FileNotFoundError:
        return TrustFile()
    except NotAFile as error:
        raise TrustFileBroken(path, error.reason) from error
    except ValueError as error:  # msgspec's own errors are ValueErrors
        raise TrustFileBroken(path, str(error)) from error


def _key(workspace: Workspace) -> str:
    return os.path.realpath(workspace.root)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
