"""The kind `review`, as a worker asks it."""

from collections.abc import Mapping, Sequence
from typing import Any

from sow.attempts.retry import Next
from sow.executors.base import Verdict
from sow.paths import AttemptPaths
from sow.schema.job import Attempt, Job, Lease
from worker.context import WorkerContext
from worker.gathering import Gathering
from worker.kinds.base import WorkerKind
from worker.kinds.review.end import write_down
from worker.kinds.review.start import prepare_review
from worker.kinds.review.tree import changed_meanwhile
from worker.kinds.work.end import facts_of
from worker.next_step import decide_next, judge_ending
from worker.prepared import Prepared
from worker.running import Exit, Running


class ReviewKind(WorkerKind):
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

    def judge(
        self, context: WorkerContext, running: Running, job: Job, exit_facts: Exit | None
    ) -> Verdict:
        """Return what its output, its program's end and its verdict show."""
        return judge_ending(context, running, job, exit_facts)

    def decide(self, context: WorkerContext, running: Running, job: Job, verdict: Verdict) -> Next:
        """Return what follows for an agent."""
        return decide_next(context, running, job, verdict)

    def facts(self, running: Running) -> Mapping[str, Any]:
        """Return what its output has told."""
        return facts_of(running)

    def write(
        self, context: WorkerContext, running: Running, job: Job, verdict: Verdict, following: Next
    ) -> None:
        """Write the job alone: the task is only looked at."""
        write_down(context, running, job, verdict, following)


KIND = ReviewKind()
