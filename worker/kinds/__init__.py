"""The kinds of jobs as a worker sees them: a package each, named by its row in `sow.schema.kinds`.

Owns which package answers for a job. What is asked of it is `base`. A step's program lies in its
kind's package and has no use for the worker: hence this imports next to nothing.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sow.schema.job import Attempt, Job
    from worker.kinds.base import WorkerKind


@cache
def worker_kinds() -> Mapping[str, "WorkerKind"]:
    """Return what answers for each kind, by its package.

    A worker asks at its start, so that no job waits for an import.
    """
    from sow.schema.kinds import KINDS  # a step's program does without it

    packages = dict.fromkeys(kind.package for kind in KINDS.values() if kind.is_leased)
    return {package: import_module(f"worker.kinds.{package}.kind").KIND for package in packages}


def worker_kind(asked: "Job | Attempt") -> "WorkerKind":
    """Return what answers for the kind of a job that a worker takes."""
    from sow.schema.kinds import kind_of  # likewise

    return worker_kinds()[kind_of(asked).package]
