"""Whether an author has reported work and changed nothing, so that nobody pays for judging that.

Owns what counts as that. In a clone the task's own change tells it, or the commit that was judged
before. In the checkout, where others work as well, only a tree shows it in which no file was
written since the job began: a larger tree is not looked at, and what cannot be told is not said.
Asks no git.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import UNSET

from sow.agents.roles import WITHOUT_FILES
from sow.paths import SOW_FOLDER
from sow.schema.job import CHANGED_NOTHING, Job
from sow.schema.task import ReviewVerdict, Task, TaskStatus
from worker.gathering import Gathered

MOST_ENTRIES = 10_000
"""Of a larger tree nothing is said: a worker has other jobs to look at."""
SKIPPED = frozenset({".git", SOW_FOLDER})
CLOCK_SECONDS = 1.0
"""A file's time may lie a little before that of the clock."""


def notes_on(task: Task, job: Job, gathered: Gathered | None, *, tree_is_old: bool) -> list[str]:
    """Return the note that an author of this role has changed nothing, if so.

    `task` is as the author left it; `gathered` what was found in its clone; `tree_is_old` says
    of the checkout that no file was written there since the job began.
    """
    if task.status is not TaskStatus.NEEDS_REVIEW or job.agent in WITHOUT_FILES:
        return []
    if task.clone is UNSET:
        is_unchanged = tree_is_old and not task.files_modified
    else:
        is_unchanged = gathered is not None and _is_as_judged(task, gathered)
    return [CHANGED_NOTHING] if is_unchanged else []


def _is_as_judged(task: Task, gathered: Gathered) -> bool:
    """Whether a task's branch holds no change, or ends where it was found wanting before."""
    if gathered.files is None:
        return False
    if not gathered.files:
        return True
    review, check = task.review, task.check
    asked = review is not UNSET and review.verdict is ReviewVerdict.CORRECTIONS
    corrected = [review.commit] if asked and review is not UNSET else []
    red = [check.commit] if check is not UNSET and not check.passed and not check.dirty else []
    return gathered.commit is not None and gathered.commit in (*corrected, *red)


def tree_is_old(root: Path, since: float) -> bool:
    """Whether no file of the repository around `root` was written since a moment.

    False where that cannot be told.
    """
    top = next((each for each in (root, *root.parents) if (each / ".git").exists()), root)
    try:
        if _is_newer(top.stat(), since):
            return False
        for number, entry in enumerate(_entries(os.fspath(top))):
            if number >= MOST_ENTRIES or _is_newer(entry.stat(follow_symlinks=False), since):
                return False
    except OSError:
        return False
    return True


def _is_newer(facts: os.stat_result, since: float) -> bool:
    return max(facts.st_mtime, facts.st_ctime) >= since - CLOCK_SECONDS


def _entries(top: str) -> Iterator[os.DirEntry[str]]:
    """Yield what lies below a folder: a folder's own time tells what was taken out of it."""
    folders = [top]
    while folders:
        with os.scandir(folders.pop()) as found:
            for entry in found:
                if entry.name in SKIPPED:
                    continue
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
