"""The user's configuration and the repository's settings, as they may stand in their files.

Owns the keys and their types. Defaults, merging and the origin of each value
are `sow.config`; what a setting does to an executor is `sow.executors`.

A key with nothing behind it (`executors:` with every line below it commented
out) is a null in YAML and counts as not given, so every key allows one.
"""

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sow.schema.batch_policy import Accept
from sow.schema.executor_type import ExecutorType, HomeUse, NetworkUse, Preset, SandboxUse

DURATION_PATTERN = r"^[0-9]{1,9}(\.[0-9]{1,3})?(ms|s|m|h|d)$(?!\n)"

Duration = Annotated[str, Meta(pattern=DURATION_PATTERN, description="500ms, 30s, 15m, 2h, 1d")]
DurationOrNever = Annotated[
    str,
    Meta(
        pattern=DURATION_PATTERN.replace("^", "^never$(?!\\n)|^"),
        description="500ms, 30s, 15m, 2h, 1d, never",
    ),
]
SIZE_PATTERN = r"^[0-9]{1,15}(\.[0-9]{1,3})?(B|KB|MB|GB|TB|KiB|MiB|GiB|TiB)$(?!\n)"
Size = Annotated[str, Meta(pattern=SIZE_PATTERN, description="500MB, 2GB, 4GiB")]
Nothing = Annotated[int, Meta(ge=0, le=0, description="0")]
Argument = Annotated[
    str, Meta(pattern=r"^[^\x00]*$", description="an argument without a NUL character")
]
MOST_HOSTS = 200
"""No list of hosts is longer: the filter of a proxy looks through all for each request."""
MOST = 1_000_000
"""No number of agents or tries is larger; what is was a slip, and fits into no record."""
NonEmptyText = Annotated[
    str, Meta(min_length=1, pattern=r"^[^\x00]*$", description="text without a NUL character")
]


class SettingsSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`agents.executors.<name>.settings`. Which of them fit a type is `config.rules`' to check."""

    yolo_mode: bool | UnsetType | None = UNSET
    model: NonEmptyText | UnsetType | None = UNSET
    allowed_tools: list[NonEmptyText] | UnsetType | None = UNSET
    command: list[NonEmptyText] | UnsetType | None = UNSET
    resume: list[NonEmptyText] | UnsetType | None = UNSET
    preset: Preset | UnsetType | None = UNSET


Money = Annotated[float, Meta(ge=0, le=MOST, description="US dollars")]


class BudgetSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`budget`, of an executor or a project: what may be spent at most."""

    usd: Money | UnsetType | None = UNSET
    tokens: int | str | UnsetType | None = UNSET
    time: Duration | UnsetType | None = UNSET


class LimitsSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`agents.executors.<name>.limits`: what each run of its agents may use at most."""

    memory: Size | UnsetType | None = UNSET
    cpu: Duration | UnsetType | None = UNSET
    processes: Annotated[int, Meta(ge=1, le=MOST)] | UnsetType | None = UNSET
    disk: Size | UnsetType | None = UNSET


VariableName = Annotated[
    str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$(?!\n)", description="the name of a variable")
]


class InheritAll(StrEnum):
    """`env_inherit` without a list."""

    ALL = "all"


HOST_PATTERN = (
    r"^(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$(?!\n)"
    r"|^[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*$(?!\n)"
)
Host = Annotated[
    str,
    Meta(
        max_length=253,
        pattern=HOST_PATTERN,
        description="a host's name, *. and a name, or an address",
    ),
]


class AllowSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`network` of a sandbox in which some hosts alone may be asked."""

    allow: Annotated[list[Host], Meta(min_length=1, max_length=MOST_HOSTS)]


Network = NetworkUse | bool | AllowSection
"""What a sandbox has of the network. YAML reads `on` and `off` as booleans."""


class ExecutorSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`agents.executors.<name>`. `type` may be left out under the name of a built-in executor."""

    type: ExecutorType | UnsetType | None = UNSET
    settings: SettingsSection | None = None
    custom_args: list[Argument] | UnsetType | None = UNSET
    env: dict[str, str] | UnsetType | None = UNSET
    env_inherit: InheritAll | list[VariableName] | UnsetType | None = UNSET
    env_files: dict[str, NonEmptyText] | UnsetType | None = UNSET
    env_commands: dict[str, NonEmptyText] | UnsetType | None = UNSET
    max_parallel: Annotated[int, Meta(ge=1, le=MOST)] | UnsetType | None = UNSET
    timeout: Duration | UnsetType | None = UNSET
    stall_timeout: DurationOrNever | UnsetType | None = UNSET
    api_timeout: DurationOrNever | UnsetType | None = UNSET
    home: HomeUse | UnsetType | None = UNSET
    sandbox: SandboxUse | UnsetType | None = UNSET
    network: Network | UnsetType | None = UNSET
    retries: Annotated[int, Meta(ge=0, le=MOST)] | UnsetType | None = UNSET
    limits: LimitsSection | None = None
    budget: BudgetSection | None = None


class FallbackResume(StrEnum):
    """What becomes of a session that has begun when its executor cannot go on."""

    STAY = "stay"
    """It waits, or fails, with its executor."""
    HANDOVER = "handover"
    """A new session begins with the next executor of its role, with a composed hand-over."""


Bound = NonEmptyText | Annotated[list[NonEmptyText], Meta(min_length=1)]


class AgentsSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`agents`."""

    executors: dict[str, ExecutorSection | None] | None = None
    bindings: dict[str, Bound | None] | None = None
    """Role to executor; to several, in the order in which they are tried."""
    fallback_resume: FallbackResume | UnsetType | None = UNSET


class WorkerSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`worker`, in either file."""

    concurrency: Annotated[int, Meta(ge=1, le=MOST)] | UnsetType | None = UNSET
    checks: Annotated[int, Meta(ge=1, le=MOST)] | UnsetType | None = UNSET
    autostart: bool | UnsetType | None = UNSET
    idle_exit: Duration | UnsetType | None = UNSET
    keep_for: Duration | UnsetType | None = UNSET
    keep_size: Size | UnsetType | None = UNSET
    min_free_disk: Size | Nothing | UnsetType | None = UNSET
    min_free_memory: Size | Nothing | UnsetType | None = UNSET


class RetrySection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`retry`."""

    on_quota: bool | UnsetType | None = UNSET
    worker_deaths: Annotated[int, Meta(ge=1, le=MOST)] | UnsetType | None = UNSET


class CloneUse(StrEnum):
    """When a task gets a clone of the repository for itself."""

    NEVER = "never"
    PARALLEL = "parallel"
    """Whenever another job of the project is live or held."""
    ALWAYS = "always"


class ClonesSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`clones`, in the repository's file. What no schema can state is `config.clones`' to check."""

    use: CloneUse | UnsetType | None = UNSET
    folder: NonEmptyText | UnsetType | None = UNSET
    copy: list[NonEmptyText] | UnsetType | None = UNSET
    setup: NonEmptyText | UnsetType | None = UNSET
    setup_timeout: Duration | UnsetType | None = UNSET
    setup_sandbox: SandboxUse | UnsetType | None = UNSET
    setup_network: Network | UnsetType | None = UNSET
    commit: bool | UnsetType | None = UNSET
    keep: list[NonEmptyText] | UnsetType | None = UNSET
    merge_check: NonEmptyText | UnsetType | None = UNSET


Dollars = Annotated[float, Meta(ge=0, le=MOST, description="US dollars for a million tokens")]


class PriceSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`prices.<model>`: what a million of its tokens cost, in US dollars."""

    input: Dollars
    output: Dollars
    cache_read: Dollars | UnsetType | None = UNSET
    cache_write: Dollars | UnsetType | None = UNSET


class NotifyEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`notify.<event>` in its longer form."""

    run: NonEmptyText
    timeout: Duration | UnsetType | None = UNSET


class NotifySection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`notify`, in the user's file alone: a command line for each event."""

    paused: NonEmptyText | NotifyEntry | UnsetType | None = UNSET
    failed: NonEmptyText | NotifyEntry | UnsetType | None = UNSET
    needs_review: NonEmptyText | NotifyEntry | UnsetType | None = UNSET
    needs_person: NonEmptyText | NotifyEntry | UnsetType | None = UNSET
    batch_done: NonEmptyText | NotifyEntry | UnsetType | None = UNSET
    parked: NonEmptyText | NotifyEntry | UnsetType | None = UNSET
    stalled: NonEmptyText | NotifyEntry | UnsetType | None = UNSET
    budget: NonEmptyText | NotifyEntry | UnsetType | None = UNSET
    brake: NonEmptyText | NotifyEntry | UnsetType | None = UNSET


class ApproveRule(StrEnum):
    """Who approves plans, documents and the whole of a project."""

    PEOPLE = "people"
    """A person at a terminal."""
    AGENTS = "agents"
    """Agents that orchestrate as well, and callers without a terminal."""


USUAL_REMOTE = "origin"
"""The git remote by which work travels where a user names none."""


class QueueSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`queue`, in the user's file alone."""

    url: NonEmptyText | UnsetType | None = UNSET
    """A PostgreSQL server's database, which has the queues of all checkouts that name it."""
    owners: list[NonEmptyText] | UnsetType | None = UNSET
    """Whose jobs workers here run of a queue that several hosts share."""
    executors: list[NonEmptyText] | UnsetType | None = UNSET
    """By which executors they run them."""
    labels: list[NonEmptyText] | UnsetType | None = UNSET
    """What this host offers, for jobs that require it."""
    remote: NonEmptyText | UnsetType | None = UNSET
    """The git remote by which a task's work goes to other hosts of a shared queue, and back."""


class UserConfigFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole of the user's `config.yaml`."""

    agents: AgentsSection | None = None
    worker: WorkerSection | None = None
    retry: RetrySection | None = None
    prices: dict[NonEmptyText, PriceSection | None] | None = None
    notify: NotifySection | None = None
    approve: ApproveRule | UnsetType | None = UNSET
    queue: QueueSection | None = None


class CheckSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`checks.<name>` in its longer form."""

    run: NonEmptyText
    timeout: Duration | UnsetType | None = UNSET
    sandbox: SandboxUse | UnsetType | None = UNSET
    network: Network | UnsetType | None = UNSET


class ReviewRule(StrEnum):
    """Who may say that a task is completed."""

    OPTIONAL = "optional"
    """Its own agent may, in the working tree that all share."""
    REQUIRED = "required"
    """Whoever judges it: what its own agent completes waits for a review."""


class BatchSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`batch`: what `sow batch run` does with each task, where its options do not say."""

    max_parallel: Annotated[int, Meta(ge=1, le=MOST)] | UnsetType | None = UNSET
    fail_fast: bool | UnsetType | None = UNSET
    clone: bool | UnsetType | None = UNSET
    check: bool | UnsetType | None = UNSET
    review: bool | UnsetType | None = UNSET
    reviewer: NonEmptyText | UnsetType | None = UNSET
    max_iterations: Annotated[int, Meta(ge=0, le=MOST)] | UnsetType | None = UNSET
    merge: bool | UnsetType | None = UNSET
    accept: Accept | UnsetType | None = UNSET
    budget: BudgetSection | None = None


class RepositoryConfigFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole of `.sow/config.yaml`: repository settings, never agent choices."""

    worker: WorkerSection | None = None
    artifacts: dict[str, str] | None = None
    clones: ClonesSection | None = None
    checks: dict[str, NonEmptyText | CheckSection | list[NonEmptyText] | None] | None = None
    """Command lines by name; under `default` the names of those that a task has by itself."""
    reviews: ReviewRule | UnsetType | None = UNSET
    budget: BudgetSection | None = None
    batch: BatchSection | None = None
