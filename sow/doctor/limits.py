"""Who keeps the limits of an executor here: the kernel, or sow's own looks.

Owns the words. What a worker has is told of one that lives; else of one that is started here.
"""

import os
from collections.abc import Sequence

from sow.config.units import write_duration, write_size
from sow.findings import Finding, Level
from sow.processes import process_facts
from sow.processes.cgroup import home_of
from sow.processes.cgroup_limits import MEMORY, PIDS, kept_in
from sow.schema.executor import ExecutorConfig, Limits

REMEDY = (
    "Start the worker in a control group of its own for the kernel to keep these limits:\n"
    "`systemd-run --user --scope -p Delegate=yes sow worker`\n"
    "In a systemd service, add `DelegateSubgroup=sow-worker` to `Delegate=yes` (systemd 254)."
)


def limits_finding(config: ExecutorConfig, limits: Limits, workers: Sequence[int]) -> Finding:
    """Return what keeps each limit of an executor; `workers` are the pids of those that live."""
    kept = kept_here(workers)
    keepers = {
        "memory": (limits.memory_bytes, MEMORY in kept),
        "cpu": (limits.cpu_seconds, "cpu" in kept),
        "processes": (limits.processes, PIDS in kept),
        "disk": (limits.disk_bytes, False),
    }
    given = {name: is_kept for name, (most, is_kept) in keepers.items() if most is not None}
    words = {
        "memory": write_size(limits.memory_bytes or 0),
        "cpu": write_duration(limits.cpu_seconds or 0.0),
        "processes": str(limits.processes),
        "disk": write_size(limits.disk_bytes or 0),
    }
    parts = [f"{name} {words[name]} ({_keeper(name, is_kept)})" for name, is_kept in given.items()]
    could = [name for name in ("memory", "processes") if given.get(name) is False]
    whose = "the worker that runs" if workers else "a worker that is started here"
    return Finding(
        check="limits",
        level=Level.NOTE if could else Level.OK,
        text=f"{config.name}: limits of each run, by {whose}: {', '.join(parts)}",
        remedy=REMEDY if could and process_facts.is_linux() else "",
        facts={"executor": config.name, "kernel": [name for name in given if given[name]]},
    )


def _keeper(name: str, is_kept: bool) -> str:
    if name == "cpu" and is_kept:
        return "counted by the kernel"
    return "kept by the kernel" if is_kept else "watched: ended within seconds"


def kept_here(workers: Sequence[int]) -> frozenset[str]:
    """Return what the kernel keeps for the first of some workers; without one, for one of ours."""
    if not process_facts.is_linux():
        return frozenset()
    pid = next(iter(workers), os.getpid())
    return kept_in(home_of(pid), lambda each: each == pid or pid in process_facts.ancestors(each))
