"""Which command lines of a repository a job needs, and which of them nobody has accepted.

Owns that choice: who starts a job asks for these, and who lets held jobs go on.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from sow.config.checks import checks_of, chosen, read_repository
from sow.config.clones import SETUP, clone_settings, merge_commands
from sow.config.source import Source
from sow.errors import SowError
from sow.paths import Workspace
from sow.schema.config import RepositoryConfigFile
from sow.schema.job import Job
from sow.schema.kinds import kind_of
from sow.trust.accepted import unaccepted


def needed_keys(
    job: Job, source: Source[RepositoryConfigFile], path: Path, *, makes_clone: bool = False
) -> tuple[str, ...]:
    """Return the settings whose command lines a job runs, such as `checks.unit`.

    `source` is what stands in `path`. Of an agent's job it is what makes its clone
    ready; `makes_clone` is whether a check does that first. A check of what a task began with does
    it in a clone of its own. Raises UnknownCheck, NoChecks,
    InvalidConfiguration.
    """
    if kind_of(job).checks:
        meant = chosen(checks_of(source), job.check_names, path)
        setup = (SETUP,) if makes_clone or job.checked_commit is not None else ()
        return (*(f"checks.{name}" for name in meant), *setup)
    if kind_of(job).merges:
        commands = merge_commands(source, clone_settings(source)[0], path)
        names = (command.name for command in commands)
        return tuple(name if name == SETUP else f"checks.{name}" for name in names)
    return (SETUP,)


def unaccepted_keys(workspace: Workspace, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the settings whose command lines are not accepted, such as `checks.unit`.

    For commands that name them before a job is held. A file that cannot be read counts as one
    without command lines: the command that needs it reports the fault.
    """
    with suppress(SowError):
        content = read_repository(workspace.repository_config).content
        return unaccepted(workspace, content, environ)
    return ()
