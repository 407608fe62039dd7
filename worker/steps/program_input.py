"""What a step's program is told on its standard input, as JSON: one struct for each program."""

import msgspec

from sow.config.checks import CheckCommand
from sow.config.clones import CloneSettings
from sow.schema.job_terms import MergeWay
from worker.steps.judged import ClonePlace

ORDERS_LIMIT = 1 << 24
"""The largest orders that are read from a file, in bytes: they name files."""


class DependencyOrder(msgspec.Struct, frozen=True, kw_only=True):
    """A completed task whose work a new clone begins with."""

    task: str
    commit: str


class CloneOrders(msgspec.Struct, frozen=True, kw_only=True):
    """The clone that an agent is to work in, and what is missing of it."""

    folder: str
    """The attempt's folder."""
    job: int
    attempt: int
    """The attempt's number: once it is settled, nothing is written into the task's state."""
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
    update: bool = False
    """Whether the project's branch is brought in, so that its conflicts lie there."""
    packages: str | None = None


class StepOrders(msgspec.Struct, frozen=True, kw_only=True):
    """What the orders of all steps have."""

    folder: str
    """The attempt's folder: logs and the result go there."""
    missing: CloneOrders | None = None
    """The task's clone, where that is made first."""


class BaseOrders(msgspec.Struct, frozen=True, kw_only=True):
    """The commit that a check is run on instead of a task's work, in a checkout of its own."""

    root: str
    """The root of the workspace that the task belongs to."""
    task: str
    commit: str
    settings: CloneSettings


class CheckOrders(StepOrders, frozen=True, kw_only=True):
    """What to check, and where."""

    cwd: str
    """Where the command lines run, and what they judge."""
    clone: ClonePlace | None = None
    """The task's clone, where they run in it."""
    commands: tuple[CheckCommand, ...]
    base: BaseOrders | None = None
    root: str = ""
    """The root of the workspace."""
    whole: str = ""
    """The workspace, where the check is one of the project as a whole."""
    packages: str | None = None
    """Where the portable back end's packages lie; None where it is not used."""


class ReviewOrders(msgspec.Struct, frozen=True, kw_only=True):
    """Where a reviewer is to work, and what is missing there."""

    folder: str
    """The attempt's folder."""
    workspace: str
    task: str
    job: int
    cwd: str
    """Where the reviewer runs, relative to the workspace's root."""
    commit: str | None
    """What is checked out in its throw-away clone; None for a reviewer in the root."""
    without: tuple[str, ...] = ()
    """The files of that commit which are not checked out."""
    settings: CloneSettings
    """As they were looked at, and accepted, when the attempt was prepared."""
    is_first: bool
    """Whether it is the job's first attempt: what lies in the clone's place is none of its."""
    packages: str | None = None


class ScanOrders(msgspec.Struct, frozen=True, kw_only=True):
    """Whose work is to be searched for secrets."""

    folder: str
    """The attempt's folder: what is found goes there."""
    attempt: str
    """The attempt's id."""
    workspace: str
    task: str
    commit: str | None
    """The commit of the checkout when the agent began; None without git. In a clone, that is where
    the task's branch began."""


class UpdateOrders(StepOrders, frozen=True, kw_only=True):
    """The clone that the project's branch is to be brought into."""

    root: str
    """The root of the workspace that the task belongs to."""
    task: str
    settings: CloneSettings


class MergeOrders(StepOrders, frozen=True, kw_only=True):
    """What to merge, and what has to pass before."""

    root: str
    """The root of the workspace that the tasks belong to."""
    tasks: tuple[str, ...]
    way: MergeWay
    fresh: tuple[str, ...] = ()
    """The tasks whose agents do not continue their sessions."""
    settings: CloneSettings
    commands: tuple[CheckCommand, ...]
    """The command lines that run on the result, the last of them the check."""
    packages: str | None = None
    """Where the portable back end's packages lie; None where it is not used."""
