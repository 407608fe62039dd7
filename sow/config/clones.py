"""The settings of tasks' clones: their defaults, their merging, and what no schema can state.

Owns these settings alone; they stand in the repository's file. What a clone is
and where it lies is `sow.clones`.
"""

from pathlib import Path, PurePosixPath

import msgspec

from sow.config.checks import CheckCommand, checks_of, chosen
from sow.config.origin import DEFAULT, REPOSITORY, Key, Origin
from sow.config.source import Source, given, network_written, refuse_no_network
from sow.config.units import parse_duration
from sow.schema.config import ClonesSection, CloneUse, RepositoryConfigFile
from sow.schema.executor_type import NetworkUse, SandboxUse

SECTION = "clones"
PATTERNS = {"copy": ".env or config/*.local.json", "keep": "out/ or reports/*.html"}
"""The keys whose values are patterns of files, with what a person may write there."""
SETUP = "clones.setup"
"""How the log of the setup is called; no check has a name with a dot."""


class CloneSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How tasks' clones are made and kept."""

    use: CloneUse = CloneUse.NEVER
    folder: str | None = None
    """Where they lie, as it was written; None is the user's state folder."""
    copy: tuple[str, ...] = ()
    """Patterns of files that git does not know and a clone needs, from the workspace's root."""
    setup: str | None = None
    """A command line that makes a new clone ready for work."""
    setup_timeout_seconds: float = 600.0
    setup_sandbox: SandboxUse | None = None
    """What fences that command line in; None: nothing."""
    setup_network: NetworkUse | None = None
    """What its sandbox has of the network; None: all of it."""
    setup_hosts: tuple[str, ...] = ()
    """What it may ask by a proxy; `setup_network` is `loopback` then. Empty: there is none."""
    commit: bool = True
    """Whether what an agent leaves uncommitted is committed when its attempt ends."""
    keep: tuple[str, ...] = ()
    """Patterns of results that git does not know, kept when a clone is removed."""
    merge_check: str | None = None
    """The name of the check that a merge's result has to pass."""


HOSTS = "setup_hosts"
CLONE_KEYS: dict[str, Key] = {
    **{field: (field.removesuffix("_seconds"),) for field in CloneSettings.__struct_fields__},
    HOSTS: ("setup_network", "allow"),
}
"""The field of CloneSettings, and its key below `clones`."""


def clone_settings(
    source: Source[RepositoryConfigFile],
) -> tuple[CloneSettings, dict[Key, Origin]]:
    """Return the settings in effect, with origins. Raises InvalidConfiguration."""
    section = source.content.clones or ClonesSection()
    _check(source, section)
    written = {field: getattr(section, key[0]) for field, key in CLONE_KEYS.items()}
    del written[HOSTS]
    written |= network_written(section.setup_network, use="setup_network", hosts=HOSTS)
    found = given(written)
    origins: dict[Key, Origin] = {
        (SECTION, *key): REPOSITORY if field in found else DEFAULT
        for field, key in CLONE_KEYS.items()
    }
    return CloneSettings(**found), origins


def _check(source: Source[RepositoryConfigFile], section: ClonesSection) -> None:
    """Raise InvalidConfiguration for the first setting that breaks a rule."""
    timeout = section.setup_timeout
    if isinstance(timeout, str) and parse_duration(timeout) == 0:
        raise source.fault(SECTION, "setup_timeout", reason="must be longer than 0")
    is_sandboxed = section.setup_sandbox is SandboxUse.BWRAP
    network = section.setup_network
    refuse_no_network(source, (SECTION,), network, is_sandboxed=is_sandboxed, prefix="setup_")
    for key, example in PATTERNS.items():
        for index, pattern in enumerate(getattr(section, key) or ()):
            reason = pattern_fault(pattern)
            if reason:
                raise source.fault(
                    SECTION,
                    key,
                    index,
                    reason=f"{pattern!r} {reason}",
                    remedy=f"Write a path below the folder that holds .sow, such as {example}.",
                )


def pattern_fault(pattern: str) -> str:
    """Return what is wrong with a pattern of files; nothing where it can be used."""
    path = PurePosixPath(pattern)
    if path.is_absolute() or pattern.startswith("~"):
        return "leads out of the repository"
    if ".." in path.parts:
        return "leads out of the folder that holds .sow"
    if not path.parts:
        return "names no file"
    if path.parts[0] == ".sow" or ".git" in path.parts:
        return "is a path that belongs to sow or git"
    return ""


def merge_commands(
    source: Source[RepositoryConfigFile], settings: CloneSettings, path: Path
) -> tuple[CheckCommand, ...]:
    """Return what is run on a fresh checkout of a merge's result; nothing where no check is set.

    `path` is where the settings stand. Raises UnknownCheck, InvalidConfiguration.
    """
    if settings.merge_check is None:
        return ()
    checks = checks_of(source)
    (name,) = chosen(checks, [settings.merge_check], path)
    return (*setup_commands(settings), checks.commands[name])


def setup_commands(settings: CloneSettings) -> tuple[CheckCommand, ...]:
    """Return what makes a fresh checkout ready; nothing where nothing has to."""
    if settings.setup is None:
        return ()
    seconds = settings.setup_timeout_seconds
    return (
        CheckCommand(
            name=SETUP,
            run=settings.setup,
            timeout_seconds=seconds,
            sandbox=settings.setup_sandbox,
            network=settings.setup_network,
            allowed_hosts=settings.setup_hosts,
        ),
    )
