"""What was done without a clone, and lies in the checked-out working tree alone. Reads only.

Owns which files count as such: those that differ from the last commit and were changed while
the task was worked on. A project's own `.sow` is no work.
"""

from collections.abc import Sequence
from datetime import datetime

from msgspec import UNSET

from sow.clones.main_checkout import MainCheckout
from sow.git.run import LONG_SECONDS
from sow.git.view import WITH_PATTERNS, view_of
from sow.paths import SOW_FOLDER
from sow.schema.task import Task

ENTRY = 3
"""How many characters of a record stand before the path."""


def changed_files(main: MainCheckout) -> tuple[str, ...]:
    """Return what differs from the last commit in the checked-out tree, relative to its top."""
    words = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all")
    exclude = f":(exclude,glob)**/{SOW_FOLDER}/**"
    records = view_of(main.repository.top).records(
        *words,
        "--ignore-submodules=none",
        *("--", ".", exclude),
        variables=WITH_PATTERNS,
        seconds=LONG_SECONDS,
    )
    return tuple(record[ENTRY:] for record in records)


def of_task(main: MainCheckout, task: Task, changed: Sequence[str]) -> tuple[str, ...]:
    """Return which of the changed files may be a task's: none that was as it is before it began."""
    started = task.started_at
    if started is UNSET:
        return tuple(changed)
    return tuple(path for path in changed if _changed_at(main, path) >= started.timestamp())


def until_its_end(main: MainCheckout, task: Task, paths: Sequence[str]) -> tuple[str, ...]:
    """Return which files have not been changed since a task was completed."""
    end = task.completed_at if task.completed_at is not UNSET else task.updated_at
    return tuple(path for path in paths if _changed_at(main, path) <= _end_of(end))


def _end_of(moment: datetime) -> float:
    return moment.timestamp() + 1  # it is of whole seconds


def _changed_at(main: MainCheckout, path: str) -> float:
    """Return when a file was last written; of one that is gone, when its folder was."""
    place = main.repository.top / path
    for there in (place, *place.parents):
        try:
            return there.lstat().st_mtime
        except OSError:
            continue
    return 0.0
