"""The names that sow gives in `.sow/run`: by them it knows what is its own there.

Owns the forms of a worker's files and of a job's folder. Anything may lie in
those folders, and a folder may be a link to another one, which even a
repository can bring along: what has another name is somebody else's, and is
neither read nor removed.
"""

from collections.abc import Iterator
from pathlib import Path

from sow.ids import WorkerId

WORKER_FILES = "w[0-9]*"
"""Begins the name of every worker's file: its id, `w` and a pid."""
MOST_DIGITS = 15
"""A job's number has no more. A larger one would fit into no record, and soon into no JSON."""


def worker_locks(workers: Path) -> Iterator[WorkerId]:
    """Yield the workers whose lock file lies in a folder."""
    return (WorkerId(path.stem) for path in workers.glob(f"{WORKER_FILES}.lock"))


def worker_logs(workers: Path) -> Iterator[Path]:
    """Yield the logs of workers in a folder."""
    return workers.glob(f"{WORKER_FILES}.log")


def bells(waiters: Path) -> Iterator[Path]:
    """Yield the bells of calls that wait, or have waited, in a folder, and of their escrows."""
    return waiters.glob("[cmp][0-9]*.bell")


def job_numbers(jobs: Path) -> Iterator[int]:
    """Yield the numbers of the jobs that have a folder in `run/jobs`."""
    return (int(path.name) for path in jobs.glob("[0-9]*") if _is_job(path.name))


def changed_at(path: Path) -> float:
    """Return when a file was last changed, in seconds since the epoch; 0 where nobody can tell."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _is_job(name: str) -> bool:
    return name.isascii() and name.isdecimal() and name[0] != "0" and len(name) <= MOST_DIGITS
