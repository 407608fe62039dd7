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

DURATION_PATTERN = r"^[0-9]{1,9}(\.[0-9]{1,3})?(ms|s|m|h|d)$(?!\n)"

Duration = Annotated[str, Meta(pattern=DURATION_PATTERN, description="500ms, 30s, 15m, 2h, 1d")]
SIZE_PATTERN = r"^[0-9]{1,15}(\.[0-9]{1,3})?(B|KB|MB|GB|TB)$(?!\n)"
Size = Annotated[str, Meta(pattern=SIZE_PATTERN, description="500MB, 2GB")]
Argument = Annotated[
    str, Meta(pattern=r"^[^\x00]*$", description="an argument without a NUL character")
]
MOST = 1_000_000
"""No number of agents or tries is larger; what is was a slip, and fits into no record."""
NonEmptyText = Annotated[
    str, Meta(min_length=1, pattern=r"^[^\x00]*$", description="text without a NUL character")
]


class ExecutorType(StrEnum):
    """The kinds of agent CLI that sow drives."""

    CLAUDE = "claude"
    CURSOR = "cursor"
    WINDSURF = "windsurf"
    COMMAND = "command"


class SettingsSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`agents.executors.<name>.settings`. Which of them fit a type is `config.rules`' to check."""

    yolo_mode: bool | UnsetType | None = UNSET
    model: NonEmptyText | UnsetType | None = UNSET
    allowed_tools: list[NonEmptyText] | UnsetType | None = UNSET
    command: list[NonEmptyText] | UnsetType | None = UNSET
    resume: list[NonEmptyText] | UnsetType | None = UNSET


class ExecutorSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`agents.executors.<name>`. `type` may be left out under the name of a built-in executor."""

    type: ExecutorType | UnsetType | None = UNSET
    settings: SettingsSection | None = None
    custom_args: list[Argument] | UnsetType | None = UNSET
    env: dict[str, str] | UnsetType | None = UNSET
    max_parallel: Annotated[int, Meta(ge=1, le=MOST)] | UnsetType | None = UNSET
    timeout: Duration | UnsetType | None = UNSET
    stall_timeout: Duration | UnsetType | None = UNSET
    retries: Annotated[int, Meta(ge=0, le=MOST)] | UnsetType | None = UNSET


class AgentsSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`agents`."""

    executors: dict[str, ExecutorSection | None] | None = None
    bindings: dict[str, NonEmptyText | None] | None = None


class WorkerSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`worker`, in either file."""

    concurrency: Annotated[int, Meta(ge=1, le=MOST)] | UnsetType | None = UNSET
    autostart: bool | UnsetType | None = UNSET
    idle_exit: Duration | UnsetType | None = UNSET
    keep_for: Duration | UnsetType | None = UNSET
    keep_size: Size | UnsetType | None = UNSET


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
    commit: bool | UnsetType | None = UNSET
    merge_check: NonEmptyText | UnsetType | None = UNSET


class UserConfigFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole of the user's `config.yaml`."""

    agents: AgentsSection | None = None
    worker: WorkerSection | None = None
    retry: RetrySection | None = None


class CheckSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`checks.<name>` in its longer form."""

    run: NonEmptyText
    timeout: Duration | UnsetType | None = UNSET


class ReviewRule(StrEnum):
    """Who may say that a task is completed."""

    OPTIONAL = "optional"
    """Its own agent may, in the working tree that all share."""
    REQUIRED = "required"
    """Whoever judges it: what its own agent completes waits for a review."""


class RepositoryConfigFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole of `.sow/config.yaml`: repository settings, never agent choices."""

    worker: WorkerSection | None = None
    artifacts: dict[str, str] | None = None
    clones: ClonesSection | None = None
    checks: dict[str, NonEmptyText | CheckSection | list[NonEmptyText] | None] | None = None
    """Command lines by name; under `default` the names of those that a task has by itself."""
    reviews: ReviewRule | UnsetType | None = UNSET
