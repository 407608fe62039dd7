"""The command lines that the result of a merge has to pass, by the settings of clones.

Owns which they are: `clones.setup`, then the check that `clones.merge_check`
names. Whether they may run is `sow.trust`.
"""

from pathlib import Path

from sow.config.checks import CheckCommand, checks_of, chosen
from sow.config.clones import CloneSettings
from sow.config.source import Source
from sow.schema.config import RepositoryConfigFile

SETUP = "clones.setup"
"""How the log of the setup is called; no check has a name with a dot."""


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
    return (CheckCommand(name=SETUP, run=settings.setup, timeout_seconds=seconds),)
