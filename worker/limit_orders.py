"""What an attempt's supervisor is to be told of the limits of its executor.

Owns when the worker has the kernel limit the groups of its attempts: before the first one that has
limits. Imported for such an attempt alone.
"""

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from sow.processes import process_facts
from sow.processes.cgroup import own_home
from sow.processes.cgroup_limits import delegate
from sow.schema.executor import Limits
from worker.supervisor.limits import CPU, DISK, MEMORY, PROCESSES, pack_limits


def limits_of(limits: Limits, folders: Sequence[Path]) -> Sequence[str]:
    """Return the orders about limits; `folders` are those that only this attempt fills."""
    _have_kernel_limit()
    most = {
        MEMORY: limits.memory_bytes,
        CPU: limits.cpu_seconds,
        PROCESSES: limits.processes,
        DISK: limits.disk_bytes,
    }
    given = {name: number for name, number in most.items() if number is not None}
    return pack_limits(given, [*map(str, folders)])


@cache
def _have_kernel_limit() -> None:
    """Have the kernel limit groups, once in the life of a worker."""
    if process_facts.is_linux():
        me = os.getpid()
        delegate(own_home(), lambda pid: pid == me or me in process_facts.ancestors(pid))
