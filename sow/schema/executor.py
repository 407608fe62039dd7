"""An executor's settings after defaults, file and environment have been merged.

This is what a job record keeps: everything that shapes the argv, and never a
value of `env` (those are read from the user's file when an attempt starts).
"""

import msgspec

from sow.schema.executor_type import ExecutorType, HomeUse, NetworkUse, Preset, SandboxUse

QUIET_SECONDS = 20 * 60.0
"""How long an agent may give no sign of life before that is told."""


class Limits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What each attempt may use at most; None: as much as there is."""

    memory_bytes: int | None = None
    cpu_seconds: float | None = None
    processes: int | None = None
    """Threads count as well, as for the kernel's own limit."""
    disk_bytes: int | None = None
    """In its clone, its session's home and its output together."""


class ExecutorConfig(msgspec.Struct, frozen=True, kw_only=True):
    """One executor, resolved. Durations are in seconds."""

    name: str
    type: ExecutorType
    yolo_mode: bool = False
    model: str | None = None
    allowed_tools: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    resume: tuple[str, ...] = ()
    preset: Preset | None = None
    """Which agent it is that speaks ACP; None: one that sow does not know."""
    custom_args: tuple[str, ...] = ()
    env_names: tuple[str, ...] = ()
    env_inherit: tuple[str, ...] | None = None
    """What its agents get of the worker's environment besides the basis; None: all."""
    env_file_names: tuple[str, ...] = ()
    env_command_names: tuple[str, ...] = ()
    max_parallel: int | None = None
    """How many of its agents may run at once; None: only the project's own limit."""
    timeout_seconds: float | None = None
    stall_timeout_seconds: float | None = None
    """After how long without a sign of life its agent is ended; 0: never, not even in a batch;
    None: in a batch after `QUIET_SECONDS`, elsewhere never."""
    api_timeout_seconds: float | None = None
    """After how long without an answer of its model its agent is ended; 0: never; None: as its CLI
    needs it."""
    home: HomeUse | None = None
    """Whose configuration folder its sessions have; None: as its CLI needs it."""
    sandbox: SandboxUse | None = None
    """What fences its agents in; None: nothing."""
    network: NetworkUse | None = None
    """What their sandbox has of the network; None: all of it."""
    allowed_hosts: tuple[str, ...] = ()
    """What they may ask by a proxy; `network` is `loopback` then. Empty: there is none."""
    retries: int = 2
    limits: Limits | None = None

    @property
    def is_sandboxed(self) -> bool:
        """Whether its agents run in a sandbox."""
        return self.sandbox is SandboxUse.BWRAP

    @property
    def secret_names(self) -> tuple[str, ...]:
        """The variables whose values sow blanks wherever it writes anything."""
        return (*self.env_file_names, *self.env_command_names)
