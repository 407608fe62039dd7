"""The configuration in effect: one value, and the origin of everything in it.

Owns the resolution of a role to its executor. Reads no file and no
environment: `config.load` has done that.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from sow.config.checks import Checks
from sow.config.clones import CloneSettings
from sow.config.origin import DEFAULT, Key, Origin
from sow.errors import ExecutorError
from sow.paths import display_path
from sow.schema.config import USUAL_REMOTE, ApproveRule, CloneUse, ReviewRule
from sow.schema.executor import ExecutorConfig

if TYPE_CHECKING:
    from sow.config.notify import NotifyCommand
    from sow.schema.notification import NotifyEvent
    from sow.schema.usage import Prices


class WorkerSettings(msgspec.Struct, frozen=True):
    """How a project's workers behave."""

    concurrency: int
    """How many agents may run at once, across all workers of the project."""
    checks: int
    """How many checks and merges may run at once, beside the agents, across all workers."""
    autostart: bool
    """Whether a call may start a worker in the background."""
    idle_exit_seconds: float
    """How long such a worker waits for more work before it ends."""
    keep_for_seconds: float
    """How long the records and output of ended jobs are kept."""
    keep_bytes: int
    """How much disk space their output may take; the oldest goes first."""
    min_free_disk_bytes: int
    """With less free disk space sow starts no jobs; 0: whatever is free."""
    min_free_memory_bytes: int
    """With less free memory sow starts no jobs; 0: whatever is free."""


class Binding(msgspec.Struct, frozen=True):
    """The executor that plays a role, and what chose it."""

    role: str
    executor: ExecutorConfig
    origin: Origin


class Configuration(msgspec.Struct, frozen=True):
    """Defaults, files and environment, merged."""

    path: Path
    """The user's file, which need not exist."""
    exists: bool
    worker: WorkerSettings
    retry_on_quota: bool
    retry_worker_deaths: int
    """How many workers in a row may die under a job, where that may be its fault."""
    executors: Mapping[str, ExecutorConfig]
    """By name: the built-in ones first, then the file's own in its order."""
    bindings: Mapping[str, str]
    """Role to the name of its first executor, which may not exist: `binding` tells."""
    origins: Mapping[Key, Origin]
    """The origin of every value, by its place in the file."""
    fallbacks: Mapping[str, tuple[str, ...]] = {}
    """Role to the executors that follow its first one; without those roles that have only one."""
    hands_over: bool = False
    """Whether a session that has begun is handed over where its executor cannot go on."""
    repository_path: Path | None = None
    """The repository's settings, which need not exist; None outside a repository."""
    prices: "Prices" = {}
    """What models cost whose CLI tells no price, by the model's name."""
    features: Mapping[str, Any] = {}
    """The settings of each feature, by its key; without those that have none."""
    clones: CloneSettings = CloneSettings()
    batch_clones: bool = False
    """Whether the repository's batches do tasks in clones: they say so, or that they merge."""
    checks: Checks = Checks()
    reviews: ReviewRule = ReviewRule.OPTIONAL
    """Who may say that a task is completed."""
    approve: ApproveRule = ApproveRule.PEOPLE
    """Who approves plans, documents and the whole of a project."""
    queue_url: str = ""
    """The server's database that has the queue; empty where a file of the checkout has it."""
    served_owners: tuple[str, ...] | None = None
    """Whose jobs workers here run of a shared queue; None: everybody's."""
    served_executors: tuple[str, ...] | None = None
    """By which executors they run them; None: by each that is defined."""
    host_labels: tuple[str, ...] = ()
    """What this host offers besides what sow finds out by itself."""
    queue_remote: str = USUAL_REMOTE
    """The git remote by which a task's work travels between the hosts of a shared queue."""
    notify: "Mapping[NotifyEvent, NotifyCommand]" = {}
    """The user's own command for each event that has one."""
    warnings: tuple[str, ...] = ()
    """What the files and the environment say without effect, one sentence each."""

    @property
    def new_clones(self) -> str:
        """When an agent that begins works in a clone: `never`, `parallel`, `always`, or `asked`.

        `asked`: where its call says so, as the repository's batches do.
        """
        use = self.clones.use
        return "asked" if self.batch_clones and use is not CloneUse.ALWAYS else use.value

    def origin(self, *key: str) -> Origin:
        """Return the origin of the value at `key`."""
        return self.origins.get(key, DEFAULT)

    def executor(self, name: str, *, origin: Origin = DEFAULT) -> ExecutorConfig:
        """Return the executor called `name`; `origin` is what chose it.

        Raises ExecutorError.
        """
        found = self.executors.get(name)
        if found is None:
            lines = ["Available executors:", *(f"  - {each}" for each in list(self.executors)), ""]
            if origin.variable:
                lines.append(f"The environment variable {origin.variable} names it.")
            lines.append(f"Check your configuration at {display_path(self.path)}")
            lines.append("Run 'sow config path' to see the full path.")
            lines.append("Run 'sow config init' to create a default configuration.")
            raise ExecutorError(f"unknown executor: {name}", hint="\n".join(lines))
        return found

    def bound(self, role: str) -> tuple[str, ...]:
        """Return the names of a role's executors in their order; none for an unknown role."""
        first = self.bindings.get(role)
        return () if first is None else (first, *self.fallbacks.get(role, ()))

    def places(self, name: str) -> Mapping[str, int]:
        """Return the roles that an executor is bound to, with its place in each one's list.

        1 is the first.
        """
        lists = {role: self.bound(role) for role in self.bindings}
        return {role: names.index(name) + 1 for role, names in lists.items() if name in names}

    @property
    def all_bound(self) -> frozenset[str]:
        """The names of all executors that a role is bound to."""
        return frozenset(name for role in self.bindings for name in self.bound(role))

    def binding(self, role: str) -> Binding:
        """Return the first executor bound to `role`, which the configuration was loaded for.

        Raises ExecutorError.
        """
        origin = self.origin("agents", "bindings", role)
        executor = self.executor(self.bindings[role], origin=origin)
        return Binding(role=role, executor=executor, origin=origin)
