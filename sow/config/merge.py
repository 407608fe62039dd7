"""Putting what a file says on top of the defaults, with the origin of every value.

Owns the correspondence between the keys of a file and the fields of our
values. Pure: the sections have been read and checked.
"""

import msgspec

from sow.agent_clis.known import AGENT_CLIS
from sow.config.configuration import WorkerSettings
from sow.config.defaults import DEFAULT_WORKER
from sow.config.origin import DEFAULT, FILE, REPOSITORY, Key, Origin
from sow.config.source import given, network_written
from sow.schema.config import ExecutorSection, InheritAll, SettingsSection, WorkerSection
from sow.schema.executor import ExecutorConfig, Limits

ALLOW = ("network", "allow")
EXECUTOR_KEYS: dict[str, Key] = {
    "type": ("type",),
    **{name: ("settings", name) for name in SettingsSection.__struct_fields__},
    "custom_args": ("custom_args",),
    "env_names": ("env",),
    "env_inherit": ("env_inherit",),
    "env_file_names": ("env_files",),
    "env_command_names": ("env_commands",),
    "max_parallel": ("max_parallel",),
    "timeout_seconds": ("timeout",),
    "stall_timeout_seconds": ("stall_timeout",),
    "api_timeout_seconds": ("api_timeout",),
    "home": ("home",),
    "sandbox": ("sandbox",),
    "network": ("network",),
    "allowed_hosts": ALLOW,
    "retries": ("retries",),
}
"""The field of ExecutorConfig, and its key below `agents.executors.<name>`."""

LIMIT_KEYS: dict[str, Key] = {
    "memory_bytes": ("limits", "memory"),
    "cpu_seconds": ("limits", "cpu"),
    "processes": ("limits", "processes"),
    "disk_bytes": ("limits", "disk"),
}
"""The field of Limits, and its key below `agents.executors.<name>`."""

WORKER_KEYS: dict[str, str] = {
    "concurrency": "concurrency",
    "checks": "checks",
    "autostart": "autostart",
    "idle_exit_seconds": "idle_exit",
    "keep_for_seconds": "keep_for",
    "keep_bytes": "keep_size",
    "min_free_disk_bytes": "min_free_disk",
    "min_free_memory_bytes": "min_free_memory",
}
"""The field of WorkerSettings, and its key below `worker`."""


def merge_executor(
    section: ExecutorSection, default: ExecutorConfig
) -> tuple[ExecutorConfig, dict[Key, Origin]]:
    """Return `default` with what `section` gives, and each value's origin."""
    settings, place = section.settings or SettingsSection(), ("agents", "executors", default.name)
    written = {
        field: getattr(settings if key[0] == "settings" else section, key[-1])
        for field, key in EXECUTOR_KEYS.items()
        if key != ALLOW
    }
    found = given(written | network_written(section.network))
    origins = {
        (*place, *key): FILE if field in found else DEFAULT for field, key in EXECUTOR_KEYS.items()
    }
    if section.limits is not None:
        limits = {field: getattr(section.limits, key[-1]) for field, key in LIMIT_KEYS.items()}
        if limits := given(limits):
            found["limits"] = Limits(**limits)
            origins |= {(*place, *LIMIT_KEYS[field]): FILE for field in limits}
    if found.get("env_inherit") == InheritAll.ALL:
        found["env_inherit"] = None
    merged = msgspec.structs.replace(default, **found)
    if merged.is_sandboxed and "yolo_mode" not in found:
        # The sandbox says what its agents may do; a CLI that asks would end their runs.
        merged = msgspec.structs.replace(merged, yolo_mode=_has_yolo_mode(merged))
    return merged, origins


def _has_yolo_mode(executor: ExecutorConfig) -> bool:
    setting = AGENT_CLIS[executor.type].settings.get("yolo_mode")
    return setting is not None and not setting.idle


def merge_worker(
    user: WorkerSection, repository: WorkerSection
) -> tuple[WorkerSettings, dict[Key, Origin]]:
    """Return the defaults under the repository's settings under the user's, with origins."""
    fields = {field: getattr(DEFAULT_WORKER, field) for field in WORKER_KEYS}
    origins: dict[Key, Origin] = {("worker", key): DEFAULT for key in WORKER_KEYS.values()}
    for section, origin in ((repository, REPOSITORY), (user, FILE)):
        found = given({field: getattr(section, key) for field, key in WORKER_KEYS.items()})
        fields.update(found)
        origins.update({("worker", WORKER_KEYS[field]): origin for field in found})
    return WorkerSettings(**fields), origins
