"""What a step's program is told on its standard input, as JSON: one struct for each program."""

import msgspec

from sow.config.checks import CheckCommand
from sow.config.clones import CloneSettings
from worker.steps.judged import ClonePlace


class CheckOrders(msgspec.Struct, frozen=True, kw_only=True):
    """What to check, and where."""

    folder: str
    """The attempt's folder: logs and the result go there."""
    cwd: str
    """Where the command lines run, and what they judge."""
    clone: ClonePlace | None = None
    """The task's clone, where they run in it."""
    commands: tuple[CheckCommand, ...]
    packages: str | None = None
    """Where the portable back end's packages lie; None where it is not used."""


class DependencyOrder(msgspec.Struct, frozen=True, kw_only=True):
    """A completed task whose work a new clone begins with."""

    task: str
    commit: str


class CloneOrders(msgspec.Struct, frozen=True, kw_only=True):
    """The clone that an agent is to work in, and what is missing of it."""

    folder: str
    """The attempt's folder."""
    workspace: str
    task: str
    cwd: str
    """Where the agent runs, relative to the workspace's root."""
    settings: CloneSettings
    """As they were looked at, and accepted, when the attempt was prepared."""
    base: str
    """The commit of the project's branch."""
    dependencies: tuple[DependencyOrder, ...] = ()
    is_begun: bool = False
    """Whether a session has begun in it: what is there is kept then."""
    packages: str | None = None


class MergeOrders(msgspec.Struct, frozen=True, kw_only=True):
    """What to merge, and what has to pass before."""

    folder: str
    """The attempt's folder: logs and the result go there."""
    root: str
    """The root of the workspace that the tasks belong to."""
    tasks: tuple[str, ...]
    squash: bool
    settings: CloneSettings
    commands: tuple[CheckCommand, ...]
    """The command lines that run on the result, the last of them the check."""
    packages: str | None = None
    """Where the portable back end's packages lie; None where it is not used."""
