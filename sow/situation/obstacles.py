"""What a task's merge that came to nothing would come to now, and what helps against that.

Owns that `next` looks rather than remembers: a reason that is gone is no reason any more.
"""

from collections.abc import Callable

from msgspec import UNSET, Struct

from sow.errors import SowError
from sow.lifecycle.refusal_steps import after
from sow.lifecycle.remedy import Remedy
from sow.lifecycle.whole_verdict import ENOUGH
from sow.schema.causes import Cause
from sow.schema.job import Job
from sow.schema.task import Task

LOOKED_INTO = (Cause.MERGE_CONFLICT, Cause.MERGE_REFUSED)
"""Why a merge can come to nothing so that it is worth asking whether it would again."""
LOOKS = "sow doctor"
"""What is named where no step is known that helps."""


class MergeNow(Struct, frozen=True):
    """What a merge of a task would come to."""

    is_in_conflict: bool = False
    in_the_way: tuple[Remedy, ...] = ()
    """What helps where it would be refused for anything else."""


def merge_now(
    task: Task, last: Job | None, obstacle: Callable[[Task], SowError | None], *, times: int
) -> MergeNow:
    """Return what the next merge of a task would come to, where its last job was a vain one.

    `obstacle` asks what a merge would be refused for; `times` is how often in a row it was. One
    that nobody finds a reason for is tried again, and then a person looks at it.
    """
    if task.clone is UNSET or last is None or last.cause not in LOOKED_INTO:
        return MergeNow()
    found = obstacle(task)
    if found is None:
        vain = last.cause is Cause.MERGE_REFUSED and times >= ENOUGH
        return MergeNow(in_the_way=_asks_person(task, last, times) if vain else ())
    from sow.clones.merge_tasks import MergeConflict  # only where one came to nothing

    if isinstance(found, MergeConflict):
        return MergeNow(is_in_conflict=True)
    return MergeNow(in_the_way=tuple(after(found)) or (Remedy(LOOKS, found.message),))


def _asks_person(task: Task, last: Job, times: int) -> tuple[Remedy, ...]:
    reason = last.reason.strip().partition("\n")[0]
    why = f"the merge of task {task.id} was refused {times} times: {reason}"
    again = Remedy(f"sow merge {task.id}", "once that is put right")
    return (Remedy(f"sow job show {last.id}", why), again)
