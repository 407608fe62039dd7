"""What a task's merge that came to nothing would come to now, and what helps against that.

Owns that `next` looks rather than remembers: a reason that is gone is no reason any more.
"""

import os
from pathlib import Path
from typing import Protocol

from msgspec import UNSET, Struct

from sow.errors import SowError
from sow.lifecycle.lifecycle_facts import Remedy
from sow.lifecycle.project_verdict import ENOUGH
from sow.lifecycle.refusal_steps import after
from sow.schema.causes import Cause
from sow.schema.job import Job
from sow.schema.task import Task, TaskStatus

LOOKED_INTO = (Cause.MERGE_CONFLICT, Cause.MERGE_REFUSED)
"""Why a merge can come to nothing so that it is worth asking whether it would again."""
DONE = (TaskStatus.NEEDS_REVIEW, TaskStatus.COMPLETED)
LOOKS = "sow doctor"
"""What is named where no step is known that helps."""


class MergeNow(Struct, frozen=True):
    """What a merge of a task would come to."""

    is_in_conflict: bool = False
    in_the_way: tuple[Remedy, ...] = ()
    """What helps where it would be refused for anything else."""


class Looks(Protocol):
    """Who looks at the branches of tasks."""

    def obstacle(self, task: Task) -> SowError | None:
        """Return what a merge of a task alone would be refused for now."""

    def obstacle_to_bring(self, task: Task) -> SowError | None:
        """Return what keeps the work in a task's clone from coming here."""


def merge_now(task: Task, last: Job | None, looks: Looks, *, times: int) -> MergeNow:
    """Return what the next merge of a task would come to, where its last job was a vain one.

    Work that is in its clone alone is asked about whatever the last job was. `times` is how often
    in a row a merge was refused: one that nobody finds a reason for is tried again, and then a
    person looks at it.
    """
    if task.clone is UNSET or is_in_merge(task):
        return MergeNow()  # what a merge that is under way in its clone needs is known
    if last is None or last.cause not in LOOKED_INTO:
        kept = looks.obstacle_to_bring(task) if task.status in DONE else None
        return MergeNow(in_the_way=_helps(kept) if kept is not None else ())
    found = looks.obstacle(task)
    if found is None:
        vain = last.cause is Cause.MERGE_REFUSED and times >= ENOUGH
        return MergeNow(in_the_way=_asks_person(task, last, times) if vain else ())
    from sow.clones.merge_tasks import MergeConflict  # only where one came to nothing

    if isinstance(found, MergeConflict):
        return MergeNow(is_in_conflict=True)
    return MergeNow(in_the_way=_helps(found))


def _helps(error: SowError) -> tuple[Remedy, ...]:
    return tuple(after(error)) or (Remedy(LOOKS, error.message),)


def is_in_merge(task: Task) -> bool:
    """Whether a merge is under way in a task's clone."""
    if task.clone is UNSET:
        return False
    return os.path.lexists(Path(task.clone.path) / ".git" / "MERGE_HEAD")


def _asks_person(task: Task, last: Job, times: int) -> tuple[Remedy, ...]:
    reason = last.reason.strip().partition("\n")[0]
    why = f"the merge of task {task.id} was refused {times} times: {reason}"
    again = Remedy(f"sow merge {task.id}", "once that is put right")
    return (Remedy(f"sow job show {last.id}", why), again)
