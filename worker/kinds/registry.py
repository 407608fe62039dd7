"""Which package answers for the kind of a job.

Owns that alone: the package has the name that the kind's row in `sow.schema.kinds` gives. It is
imported with the worker, so that no job waits for it.
"""

from collections.abc import Mapping
from importlib import import_module

from sow.schema.job import Attempt, Job
from sow.schema.kinds import KINDS, kind_of
from worker.kinds.base import WorkerKind

WORKER_KINDS: Mapping[str, WorkerKind] = {
    package: import_module(f"worker.kinds.{package}.kind").KIND
    for package in dict.fromkeys(kind.package for kind in KINDS.values() if kind.is_leased)
}


def worker_kind(asked: Job | Attempt) -> WorkerKind:
    """Return what answers for the kind of a job that a worker takes."""
    return WORKER_KINDS[kind_of(asked).package]
