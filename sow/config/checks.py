"""The repository's checks: named command lines in `.sow/config.yaml`; and whether it has reviews.

Owns what may stand under `checks`, and which checks a choice of names stands
for. Whether a command line may run is `sow.trust`; who runs it, `worker.steps`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from sow.config.origin import Key
from sow.config.source import Source, given, network_written, read_source, refuse_no_network
from sow.config.units import parse_duration
from sow.digest import sha256
from sow.errors import StateError
from sow.ids import is_slug
from sow.schema.config import CheckSection, RepositoryConfigFile, ReviewRule
from sow.schema.executor_type import NetworkUse, SandboxUse

SECTION = "checks"
DEFAULT = "default"
"""The word below `checks` that is no check: it lists those of a task that names none."""
DEFAULT_TIMEOUT_SECONDS = 1800.0
"""How long a check may take that says nothing about it."""


class CheckCommand(msgspec.Struct, frozen=True, kw_only=True):
    """One check."""

    name: str
    run: str
    """A command line for `/bin/sh -c`."""
    timeout_seconds: float
    sandbox: SandboxUse | None = None
    """What fences it in; None: nothing."""
    network: NetworkUse | None = None
    """What its sandbox has of the network; None: all of it."""
    allowed_hosts: tuple[str, ...] = ()
    """What it may ask by a proxy; `network` is `loopback` then. Empty: there is none."""

    @property
    def is_sandboxed(self) -> bool:
        """Whether it runs in a sandbox."""
        return self.sandbox is SandboxUse.BWRAP


class Checks(msgspec.Struct, frozen=True, kw_only=True):
    """All checks of a repository."""

    commands: Mapping[str, CheckCommand] = {}
    """By name, in the order of the file."""
    default: tuple[str, ...] = ()
    """The names of those that a task has by itself."""

    @property
    def of_project(self) -> tuple[str, ...]:
        """The names of those that a project has to pass: the default ones, else all."""
        return self.default or tuple(self.commands)

    def is_as_run(self, name: str, command: str) -> bool:
        """Whether a check is written now as it was when `command` was made of its text."""
        return name in self.commands and hash_of(self.commands[name].run) == command


class UnknownCheck(StateError):
    """A name that is no check of this repository."""

    def __init__(self, name: str, known: Sequence[str], path: Path) -> None:
        self.path = path
        there = f"The checks are: {', '.join(known)}." if known else f"{path} names no checks."
        super().__init__(
            f"no such check: {name}",
            hint=f"{there} Give the name of a check, not a command line. Add new checks to"
            f" {path.name} under `checks`.",
        )


class NoChecks(StateError):
    """Nothing says what is to be checked."""

    def __init__(self, known: Sequence[str], path: Path) -> None:
        self.path = path
        hint = f"Give some ({', '.join(known)}), or list them under checks.default in {path}."
        if not known:
            hint = f'Add one to {path}, such as `checks: {{unit: "make test", default: [unit]}}`.'
        super().__init__("no check is given, and there is no default", hint=hint)


def hash_of(run: str) -> str:
    """Return what tells the text of a command line from another."""
    return str(sha256(run.encode("utf-8", "surrogatepass")).hexdigest())


def read_repository(path: Path) -> Source[RepositoryConfigFile]:
    """Read the repository's settings as they stand now. Raises InvalidConfiguration."""
    return read_source(path, RepositoryConfigFile)


def checks_of(source: Source[RepositoryConfigFile]) -> Checks:
    """Return the checks that a file names. Raises InvalidConfiguration."""
    commands: dict[str, CheckCommand] = {}
    default: tuple[str, ...] = ()
    for name, value in (source.content.checks or {}).items():
        if name == DEFAULT:
            default = _default(source, value)
        else:
            commands[name] = _command(source, name, value)
    for name in default:
        if name not in commands:
            raise source.fault(
                SECTION,
                DEFAULT,
                reason=f"there is no check {name}",
                remedy=f"The checks are: {', '.join(commands) or 'none so far'}.",
            )
    return Checks(commands=commands, default=default)


def keys_of(checks: Checks) -> list[Key]:
    """Return where each of them stands in the file."""
    names = [*checks.commands, *([DEFAULT] if checks.default else [])]
    return [(SECTION, name) for name in names]


def _default(source: Source[RepositoryConfigFile], value: object) -> tuple[str, ...]:
    if value is not None and not isinstance(value, list):
        raise source.fault(
            SECTION,
            DEFAULT,
            reason="it must be a list of checks",
            remedy="Write a list, such as [unit].",
        )
    return tuple(dict.fromkeys(value or ()))


def _command(source: Source[RepositoryConfigFile], name: str, value: object) -> CheckCommand:
    if not is_slug(name):
        raise source.fault(
            SECTION,
            name,
            reason="the name of a check can only have lower-case letters, digits and dashes",
            remedy="Give it another name, such as unit or lint-docs.",
        )
    seconds = DEFAULT_TIMEOUT_SECONDS
    section = value if isinstance(value, CheckSection) else None
    if isinstance(value, CheckSection):
        if value.timeout is not UNSET and value.timeout is not None:
            seconds = parse_duration(value.timeout)
        value = value.run
    if not isinstance(value, str):
        raise source.fault(
            SECTION,
            name,
            reason="it must be a command line, or a mapping with run",
            remedy=f'Write {name}: "make test", or {name}: {{run: "make test", timeout: 5m}}.',
        )
    fence: dict[str, Any] = {}
    if section is not None:
        fence = given({"sandbox": section.sandbox, **network_written(section.network)})
    is_sandboxed = fence.get("sandbox") is SandboxUse.BWRAP
    refuse_no_network(source, (SECTION, name), fence.get("network"), is_sandboxed=is_sandboxed)
    return CheckCommand(name=name, run=value, timeout_seconds=seconds, **fence)


def chosen(checks: Checks, names: Sequence[str], path: Path) -> tuple[str, ...]:
    """Return the names of the checks that are meant, each once; without names the default.

    `path` is where they stand. Raises UnknownCheck, NoChecks.
    """
    _refuse_unknown(checks, names, path)
    meant = tuple(dict.fromkeys(names)) or checks.default
    if not meant:
        raise NoChecks(list(checks.commands), path)
    return meant


def refuse_unknown(path: Path, names: Sequence[str]) -> None:
    """Refuse names of no check. Raises UnknownCheck, InvalidConfiguration."""
    if names:
        _refuse_unknown(checks_of(read_repository(path)), names, path)


def _refuse_unknown(checks: Checks, names: Sequence[str], path: Path) -> None:
    for name in names:
        if name not in checks.commands:
            raise UnknownCheck(name, list(checks.commands), path)


def review_is_required(path: Path) -> bool:
    """Whether the settings in `path` ask for a review of every task. Raises InvalidConfiguration.

    Read as they stand now: an agent reports long after its call.
    """
    return read_repository(path).content.reviews is ReviewRule.REQUIRED
