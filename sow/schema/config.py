"""The user's configuration and the repository's settings, as they may stand in their files.

Owns the keys and their types. Defaults, merging and the origin of each value
are `sow.config`; what a setting does to an executor is `sow.executors`.
"""

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

Duration = Annotated[str, Meta(pattern=r"^[0-9]+(\.[0-9]+)?(ms|s|m|h|d)$", description="15m, 2h")]


class ExecutorType(StrEnum):
    """The kinds of agent CLI that sow drives."""

    CLAUDE = "claude"
    CURSOR = "cursor"
    WINDSURF = "windsurf"
    COMMAND = "command"


class SettingsSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`agents.executors.<name>.settings`. Which of them fit a type is `config.load`'s to check."""

    yolo_mode: bool | UnsetType = UNSET
    model: Annotated[str, Meta(min_length=1)] | UnsetType = UNSET
    allowed_tools: list[str] | UnsetType = UNSET
    command: list[str] | UnsetType = UNSET
    resume: list[str] | UnsetType = UNSET


class ExecutorSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`agents.executors.<name>`."""

    type: ExecutorType
    settings: SettingsSection = SettingsSection()
    custom_args: list[str] | UnsetType = UNSET
    env: dict[str, str] | UnsetType = UNSET
    max_parallel: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    timeout: Duration | UnsetType = UNSET
    stall_timeout: Duration | UnsetType = UNSET
    retries: Annotated[int, Meta(ge=0)] | UnsetType = UNSET


class AgentsSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`agents`."""

    executors: dict[str, ExecutorSection] = {}
    bindings: dict[str, str] = {}


class WorkerSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`worker`, in either file."""

    concurrency: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    autostart: bool | UnsetType = UNSET
    idle_exit: Duration | UnsetType = UNSET


class RetrySection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`retry`."""

    on_quota: bool | UnsetType = UNSET


class UserConfigFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole of the user's `config.yaml`."""

    agents: AgentsSection = AgentsSection()
    worker: WorkerSection = WorkerSection()
    retry: RetrySection = RetrySection()


class RepositoryConfigFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole of `.sow/config.yaml`: repository settings, never agent choices."""

    worker: WorkerSection = WorkerSection()
    artifacts: dict[str, str] = {}
