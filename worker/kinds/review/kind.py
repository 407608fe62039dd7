"""The kind `review`, as a worker asks it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from sow.attempts.fallback import Way, after_left
from sow.attempts.judge import report_of
from sow.attempts.retry import Next, Step
from sow.clones.tree_watch import Look, changed_between, look_at_tree
from sow.errors import StateError
from sow.executors.base import Verdict
from sow.faults import passing_fault
from sow.paths import AttemptPaths
from sow.schema.causes import Cause
from sow.schema.job import Attempt, Job, Lease
from sow.schema.task import Task
from worker.context import WorkerContext
from worker.gathering import Gathered, Gathering, named
from worker.job_end import (
    Outdated,
    end_unwritten,
    follow,
    refuse_cancelled,
    refuse_raised,
    tell_of_end,
)
from worker.kinds.base import Prepared, Recording
from worker.kinds.review.start import prepare_review
from worker.kinds.review.sweep import end_review_clone
from worker.next_executor import log_move
from worker.next_step import AgentKind, spent_by
from worker.running import Running, read_record
from worker.sweeping import in_background
from worker.task_state import change_under_lease, restore_state

LOOK_LIMIT = 1 << 24


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


def changed_meanwhile(context: WorkerContext, running: Running) -> Gathered:
    """Tell what has changed in the root while a reviewer worked there."""
    root = context.workspace.root
    before = read_record(running.paths.tree_before, Look, limit=LOOK_LIMIT)
    after = look_at_tree(root) if before is not None else None
    if before is None or after is None:
        untold = f"sow cannot tell what changed in {root} while the reviewer worked there"
        return Gathered(warnings=(f"{untold}: there is no commit to compare with",))
    changed = changed_between(before, after)
    if not changed:
        return Gathered()
    how = (
        f"changed in {root} while the reviewer worked there (by the reviewer or by someone"
        " else), and not undone"
    )
    return Gathered(warnings=(f"{how}: {named(changed)}",))


class ReviewKind(AgentKind):
    """Jobs whose agent judges the work of a task."""

    def prepare(
        self,
        context: WorkerContext,
        job: Job,
        lease: Lease,
        history: Sequence[Attempt],
        paths: AttemptPaths,
    ) -> Prepared:
        """Return the launch of a reviewer in its throw-away clone and its own session."""
        return prepare_review(context, job, lease, history, paths)

    def gathering(self, context: WorkerContext, running: Running) -> Gathering | None:
        """Return what compares the root, where a reviewer works in it."""
        if not running.paths.tree_before.exists():
            return None
        return Gathering(running.job, lambda: changed_meanwhile(context, running))

    def write(
        self,
        context: WorkerContext,
        running: Running,
        job: Job,
        verdict: Verdict,
        next_step: Next,
        ending: Recording,
    ) -> None:
        """Write the job's end, or its next turn; the task is only looked at. Raises Outdated.

        A task that cannot be read any more (its folder is gone, say) ends its job as failed.
        """
        spent = spent_by(job, running, verdict, next_step)
        if next_step.step in (Step.FAIL, Step.PARK):
            verdict = replace(verdict, reason=after_left(job, verdict.reason))
        is_final, last = False, None

        def change(task: Task) -> Mapping[str, Any]:
            _refuse_outdated(context, job, verdict, next_step.step, task)
            if next_step.way is not Way.STAY:
                log_move(context, job, spent)
            return {}

        def record(task: Task) -> None:
            nonlocal is_final, last
            last = task
            ending()
            tell_verdict(task)
            is_final = follow(context, job, running.lease, verdict, next_step, None, spent)

        try:
            if verdict.cause is Cause.STATE_UNREADABLE:
                restore_state(context, running)
            tell_verdict = _verdict_teller(context, running)
            change_under_lease(context, job, running.lease, change, record)
        except StateError as error:
            if passing_fault(error) is not None:
                raise  # nothing is wrong with the task: it is written later
            ending()
            unwritable = Verdict(Cause.STATE_UNREADABLE, error.message)
            end_unwritten(context, job, running.lease, unwritable, **spent)
            return
        if is_final:
            tell_of_end(context, job)
            if last is not None:
                ended = last
                in_background(lambda: end_review_clone(context, job, ended))


def _verdict_teller(context: WorkerContext, running: Running) -> Callable[[Task], None]:
    """Return what tells of a verdict where its task is at home elsewhere."""
    if running.guest is None:
        return lambda _: None
    # Few queues are shared.
    from worker.guests import verdict_teller

    return verdict_teller(context, running)


KIND = ReviewKind()
