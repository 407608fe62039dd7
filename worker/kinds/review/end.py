"""The end of a reviewer's attempt: its verdict, and the end of the place in which it worked.

Owns that its report is a verdict of this very job, and that the task stays as
it is. What it was told apart by is found out as for every agent (`worker.next_step`);
the order of the writes is `settle`.
"""

from collections.abc import Mapping
from typing import Any

from sow.attempts.judge import report_of
from sow.attempts.retry import Next, Step
from sow.errors import StateError
from sow.executors.base import Verdict
from sow.faults import passing_fault
from sow.schema.causes import Cause
from sow.schema.job import Job
from sow.schema.task import Task
from worker.context import WorkerContext
from worker.job_end import (
    Outdated,
    end_unwritten,
    follow,
    refuse_cancelled,
    refuse_raised,
    tell_of_end,
)
from worker.kinds.review.sweep import end_review_clone
from worker.next_step import spent_by
from worker.running import Running
from worker.sweeping import in_background
from worker.task_state import change_under_lease, restore_state


def write_down(
    context: WorkerContext, running: Running, job: Job, verdict: Verdict, following: Next
) -> None:
    """Write the job's end, or its next turn; the task is only looked at. Raises Outdated.

    A task that cannot be read any more (its folder is gone, say) ends its job as failed.
    """
    spent = spent_by(job, running, verdict, following)
    is_final, last = False, None

    def change(task: Task) -> Mapping[str, Any]:
        _refuse_outdated(context, job, verdict, following.step, task)
        return {}

    def record(task: Task) -> None:
        nonlocal is_final, last
        last = task
        is_final = follow(context, job, running.lease, verdict, following, None, spent)

    try:
        if verdict.cause is Cause.STATE_UNREADABLE:
            restore_state(context, running)
        change_under_lease(context, job, running.lease, change, record)
    except StateError as error:
        if passing_fault(error) is not None:
            raise  # nothing is wrong with the task: it is written later
        unwritable = Verdict(Cause.STATE_UNREADABLE, error.message)
        end_unwritten(context, job, running.lease, unwritable, **spent)
        return
    if is_final:
        tell_of_end(context, job)
        if last is not None:
            ended = last
            in_background(lambda: end_review_clone(context, job, ended))


def _refuse_outdated(
    context: WorkerContext, job: Job, verdict: Verdict, step: Step, task: Task
) -> None:
    """Raise Outdated where an attempt is to be judged again; asked in the critical section.

    Only a verdict ends a review as done, and nothing else follows one.
    """
    if step is Step.CANCEL:
        return
    if (report_of(job, task) is not None) is not (step is Step.DONE):
        raise Outdated
    if step is not Step.DONE:
        refuse_cancelled(context, job)
    if step is Step.FAIL:
        refuse_raised(context, job, verdict)
