"""What this user has accepted: hashes for each workspace, in the user's configuration folder.

Owns that file, `trust.json`. It lies beside the user's configuration, where a
repository, and an agent that edits it, does not reach by editing its own files.
"""

import hashlib
import json
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from sow.errors import ConfigurationError, StateError
from sow.files import NotAFile, locked_folder, read_regular, write_atomically
from sow.paths import Workspace, display_path, user_config_path
from sow.schema.config import AllowSection, CheckSection, RepositoryConfigFile
from sow.schema.executor_type import NetworkUse, SandboxUse

FILE = "trust.json"
FILE_LIMIT = 1 << 22
"""The largest such file that is read, in bytes; a workspace takes some 150."""


class CommandLine(NamedTuple):
    """One command line, and where it stands."""

    key: str
    run: str
    fence: str = ""
    """The sandbox that it runs in, in words; without it, it could do more than was accepted."""


def command_lines(content: RepositoryConfigFile) -> tuple[CommandLine, ...]:
    """Return the command lines of a repository's settings, in the order of their keys."""
    found = []
    clones = content.clones
    if clones is not None and isinstance(clones.setup, str):
        fence = _fence(clones.setup_sandbox, clones.setup_network)
        found.append(CommandLine("clones.setup", clones.setup, fence))
    for name, value in (content.checks or {}).items():
        if isinstance(value, CheckSection):
            fence = _fence(value.sandbox, value.network)
            found.append(CommandLine(f"checks.{name}", value.run, fence))
        elif isinstance(value, str):
            found.append(CommandLine(f"checks.{name}", value))
    return tuple(sorted(found))


def _fence(sandbox: object, network: object) -> str:
    """Return the sandbox of a command line in words; nothing where it has none."""
    if sandbox is not SandboxUse.BWRAP:
        return ""
    use = str(network) if isinstance(network, NetworkUse) else NetworkUse.ON
    if isinstance(network, AllowSection):
        use = f"{{allow: [{', '.join(network.allow)}]}}"
    return f"sandbox: {sandbox}, network: {use}"


def text_of(lines: tuple[CommandLine, ...]) -> str:
    """Return the one text that stands for these command lines; empty where there are none."""
    if not lines:
        return ""
    parts = [[part for part in line if part] for line in lines]
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


class TrustFile(msgspec.Struct, frozen=True, kw_only=True):
    """The whole of `trust.json`."""

    accepted: dict[str, str] = {}
    """By the workspace's root, without links: the hash of the accepted text."""
    lines: dict[str, tuple[str, ...]] = {}
    """Likewise the hashes of its command lines. Older files have none."""


class NotTrusted(StateError):
    """The command lines in `.sow/config.yaml` below `root` are not those this user has accepted.

    `is_host` is whether the user is that of a host who runs a job of another checkout.
    """

    def __init__(self, root: Path, *, changed: bool, is_host: bool = False) -> None:
        how = "have changed since they were accepted" if changed else "are not accepted yet"
        path = Workspace(root).repository_config
        where = f" in {root} on that host" if is_host else ""
        super().__init__(
            f"the command lines in {path} {how}; `sow trust`{where} shows them and asks",
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
    workspace: Workspace,
    content: RepositoryConfigFile,
    environ: Mapping[str, str],
    *,
    keys: Collection[str],
) -> None:
    """Refuse to run what this user has not accepted: of all command lines those named by `keys`.

    Each counts by itself, its key with it: what has changed beside it holds up
    nobody who does not need that. Raises NotTrusted, TrustFileBroken.
    """
    if any(key in keys for key in unaccepted(workspace, content, environ)):
        changed = _key(workspace) in _read(trust_file(environ)).accepted
        root, is_host = workspace.host or workspace.root, workspace.host is not None
        raise NotTrusted(root, changed=changed, is_host=is_host)


def unaccepted(
    workspace: Workspace, content: RepositoryConfigFile, environ: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the keys of the command lines that this user has not accepted.

    Raises TrustFileBroken.
    """
    lines = command_lines(content)
    if is_accepted(workspace, text_of(lines), environ):
        return ()
    known = _read(trust_file(environ)).lines.get(_key(workspace), ())
    return tuple(line.key for line in lines if _hash_of(line) not in known)


def accept(
    workspace: Workspace, lines: tuple[CommandLine, ...], environ: Mapping[str, str]
) -> None:
    """Remember that this user accepts these command lines, and no others any more.

    Raises TrustFileBroken, StateError.
    """
    path = trust_file(environ)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise TrustFileBroken(path, f"its folder cannot be made: {error.strerror}") from error
    with locked_folder(path.parent):
        before, key = _read(path), _key(workspace)
        after = TrustFile(
            accepted={**before.accepted, key: _hash(text_of(lines))},
            lines={**before.lines, key: tuple(map(_hash_of, lines))},
        )
        data = msgspec.json.encode(after)
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
    return os.path.realpath(workspace.host or workspace.root)


def _hash_of(line: CommandLine) -> str:
    return _hash(text_of((line,)))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
