"""The end of a reviewer's attempt: its verdict, and the end of the place in which it worked.

Owns that its report is a verdict of this very job, and that the task stays as
it is. What it was told apart by is found out as for every agent (`decision`);
the order of the writes is `settle`.
"""

from collections.abc import Mapping
from typing import Any

from sow.attempts.judge import report_of
from sow.attempts.retry import Next, Step
from sow.clones.tree_watch import Look, changed_between, look_at_tree
from sow.errors import StateError
from sow.executors.base import Verdict
from sow.faults import passing_fault
from sow.schema.causes import Cause
from sow.schema.job import Job
from sow.schema.task import Task
from worker.agent_end import facts_of
from worker.context import WorkerContext
from worker.decision import decide_next, judge_ending, spent_by
from worker.following import Outdated, follow, refuse_cancelled
from worker.job_end import end_unwritten, tell_of_end
from worker.review_sweep import end_review_clone
from worker.running import Running, read_record
from worker.task_state import change_under_lease, restore_state

__all__ = ["decide_next", "facts_of", "judge_ending", "write_down"]

LOOK_LIMIT = 1 << 24
MOST_NAMED = 10
"""How many files a warning names."""


def write_down(
    context: WorkerContext, running: Running, job: Job, verdict: Verdict, following: Next
) -> None:
    """Write the job's end, or its next turn; the task is only looked at. Raises Outdated.

    A task that cannot be read any more (its folder is gone, say) ends its job as failed.
    """
    spent = spent_by(job, running, verdict, following)
    spent["warnings"] = (*spent.get("warnings", job.warnings), *_changes_told(context, running))
    is_final, last = False, None

    def change(task: Task) -> Mapping[str, Any]:
        _refuse_outdated(context, job, following.step, task)
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
            end_review_clone(context, job, last)


def _refuse_outdated(context: WorkerContext, job: Job, step: Step, task: Task) -> None:
    """Raise Outdated where an attempt is to be judged again; asked in the critical section.

    Only a verdict ends a review as done, and nothing else follows one.
    """
    if step is Step.CANCEL:
        return
    if (report_of(job, task) is not None) is not (step is Step.DONE):
        raise Outdated
    if step is not Step.DONE:
        refuse_cancelled(context, job)


def _changes_told(context: WorkerContext, running: Running) -> tuple[str, ...]:
    """Return in words what has changed in the root while a reviewer worked there."""
    before = read_record(running.paths.tree_before, Look, limit=LOOK_LIMIT)
    after = look_at_tree(context.workspace.root) if before is not None else None
    if before is None or after is None:
        return ()
    changed = changed_between(before, after)
    if not changed:
        return ()
    rest = len(changed) - MOST_NAMED
    named = ", ".join(changed[:MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")
    return (
        f"changed in {context.workspace.root} while the reviewer worked there, by whatever hand,"
        f" and not undone: {named}",
    )
