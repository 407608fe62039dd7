"""The kinds of jobs without an agent: each attempt runs a program of ours.

Owns what these kinds share. Of its own a kind has its orders, and its program: the module `program`
of its package, which `worker.steps` runs.
"""

from abc import abstractmethod
from collections.abc import Sequence

import msgspec

from sow.attempts.retry import Next
from sow.executors.base import Verdict
from sow.ids import TaskId
from sow.paths import AttemptPaths
from sow.schema.job import Attempt, Job, Lease
from sow.schema.step_result import StepResult
from sow.state.tasks import read_task
from worker.context import WorkerContext
from worker.kinds.base import WorkerKind
from worker.kinds.step_end import decide_next, judge_ending, write_down
from worker.kinds.step_start import Place, place_of, prepare_step
from worker.prepared import Prepared
from worker.running import Exit, Running


class StepKind(WorkerKind):
    """Jobs that a program of ours does."""

    works_in_clone = False
    """Whether it works in its task's clone, if there is one, or always in the user's checkout."""

    @abstractmethod
    def orders(
        self, context: WorkerContext, job: Job, place: Place, paths: AttemptPaths
    ) -> msgspec.Struct:
        """Return what its program is to do.

        It is found out once, so that what was looked at (that its command lines are accepted, say)
        is what the program does.
        """

    def record_in_project(self, context: WorkerContext, job: Job, result: StepResult) -> None:
        """Put the result of a job about no task into the project's state, before the job ends."""

    def prepare(
        self,
        context: WorkerContext,
        job: Job,
        _lease: Lease,
        _history: Sequence[Attempt],
        paths: AttemptPaths,
    ) -> Prepared:
        """Return its program with its orders."""
        task = read_task(context.workspace, TaskId(job.task_id)) if job.task_id else None
        place = place_of(context, job, task if self.works_in_clone else None)
        return prepare_step(context, job, task, place, self.orders(context, job, place, paths))

    def judge(
        self, context: WorkerContext, running: Running, job: Job, exit_facts: Exit | None
    ) -> Verdict:
        """Return what its program has found out, else what became of it."""
        return judge_ending(context, running, job, exit_facts)

    def decide(self, context: WorkerContext, running: Running, job: Job, verdict: Verdict) -> Next:
        """Return what follows: no session can be kept or lost."""
        return decide_next(context, running, job, verdict)

    def write(
        self, context: WorkerContext, running: Running, job: Job, verdict: Verdict, following: Next
    ) -> None:
        """Put the result into the task, if there is one, and write the job with it."""
        write_down(context, running, job, verdict, following, self.record_in_project)
