"""What a job's record says of the machine it was queued on, which other hosts must not go by.

In a queue that several hosts share a record has none of it: the program of an executor, its
arguments and permissions, PATH and the file of settings are those of the host that runs the job.
Owns which fields those are. What a host makes of records is `worker.hosting`.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from sow.schema.executor import ExecutorConfig

UNSAID: Mapping[str, object] = {"path_variable": "", "config_file": "", "max_parallel": None}
"""The fields that are of a machine alone, with what stands there instead."""


def without_machine(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return what to write in the place of those fields of a record that tell of this machine.

    Of an executor its name remains, and its type: a session of another type is none of its own.
    """
    instead = {name: UNSAID[name] for name in UNSAID.keys() & fields.keys()}
    if isinstance(executor := fields.get("executor"), ExecutorConfig):
        instead["executor"] = _named(msgspec.to_builtins(executor))
    if isinstance(terms := fields.get("terms"), msgspec.Struct):
        instead["terms"] = plain = msgspec.to_builtins(terms)
        for following in plain.get("fallback", {}).get("next", ()):
            following["executor"] = _named(following["executor"])
    return instead


def _named(executor: Mapping[str, Any]) -> dict[str, Any]:
    return {name: executor[name] for name in ("name", "type")}
