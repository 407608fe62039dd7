"""Putting what a file says on top of the defaults, with the origin of every value.

Owns the correspondence between the keys of a file and the fields of our
values. Pure: the sections have been read and checked.
"""

from typing import Any

import msgspec
from msgspec import UNSET

from sow.config.configuration import WorkerSettings
from sow.config.defaults import DEFAULT_WORKER
from sow.config.origin import DEFAULT, FILE, REPOSITORY, Key, Origin
from sow.config.units import parse_duration, parse_duration_or_never, parse_size
from sow.schema.config import ExecutorSection, SettingsSection, WorkerSection
from sow.schema.executor import ExecutorConfig

EXECUTOR_KEYS: dict[str, Key] = {
    "type": ("type",),
    "yolo_mode": ("settings", "yolo_mode"),
    "model": ("settings", "model"),
    "allowed_tools": ("settings", "allowed_tools"),
    "command": ("settings", "command"),
    "resume": ("settings", "resume"),
    "custom_args": ("custom_args",),
    "env_names": ("env",),
    "max_parallel": ("max_parallel",),
    "timeout_seconds": ("timeout",),
    "stall_timeout_seconds": ("stall_timeout",),
    "retries": ("retries",),
}
"""The field of ExecutorConfig, and its key below `agents.executors.<name>`."""

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
    given = _given_by_executor(section)
    place = ("agents", "executors", default.name)
    origins = {
        (*place, *key): FILE if field in given else DEFAULT for field, key in EXECUTOR_KEYS.items()
    }
    return msgspec.structs.replace(default, **given), origins


def _given_by_executor(section: ExecutorSection) -> dict[str, Any]:
    settings = section.settings or SettingsSection()
    fields = {
        "type": section.type,
        "yolo_mode": settings.yolo_mode,
        "model": settings.model,
        "allowed_tools": _tuple(settings.allowed_tools),
        "command": _tuple(settings.command),
        "resume": _tuple(settings.resume),
        "custom_args": _tuple(section.custom_args),
        "env_names": _tuple(section.env),
        "max_parallel": section.max_parallel,
        "timeout_seconds": _seconds(section.timeout),
        "stall_timeout_seconds": _seconds_or_never(section.stall_timeout),
        "retries": section.retries,
    }
    return _without_nothing(fields)


def merge_worker(
    user: WorkerSection, repository: WorkerSection
) -> tuple[WorkerSettings, dict[Key, Origin]]:
    """Return the defaults under the repository's settings under the user's, with origins."""
    fields = {field: getattr(DEFAULT_WORKER, field) for field in WORKER_KEYS}
    origins: dict[Key, Origin] = {("worker", key): DEFAULT for key in WORKER_KEYS.values()}
    for section, origin in ((repository, REPOSITORY), (user, FILE)):
        given = _given_by_worker(section)
        fields.update(given)
        origins.update({("worker", WORKER_KEYS[field]): origin for field in given})
    return WorkerSettings(**fields), origins


def _given_by_worker(section: WorkerSection) -> dict[str, Any]:
    fields = {
        "concurrency": section.concurrency,
        "checks": section.checks,
        "autostart": section.autostart,
        "idle_exit_seconds": _seconds(section.idle_exit),
        "keep_for_seconds": _seconds(section.keep_for),
        "keep_bytes": _bytes(section.keep_size),
        "min_free_disk_bytes": _bytes(section.min_free_disk),
        "min_free_memory_bytes": _bytes(section.min_free_memory),
    }
    return _without_nothing(fields)


def _without_nothing(fields: dict[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in fields.items() if value not in (UNSET, None)}


def _tuple(value: Any) -> Any:
    return value if value in (UNSET, None) else tuple(value)


def _seconds(value: Any) -> Any:
    return value if value in (UNSET, None) else parse_duration(value)


def _seconds_or_never(value: Any) -> Any:
    return value if value in (UNSET, None) else parse_duration_or_never(value)


def _bytes(value: Any) -> Any:
    return parse_size(value) if isinstance(value, str) else value
