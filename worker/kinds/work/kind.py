"""The kind `work`, as a worker asks it."""

from collections.abc import Mapping, Sequence
from typing import Any

from sow.attempts.retry import Next
from sow.executors.base import Verdict
from sow.paths import AttemptPaths
from sow.schema.job import Attempt, Job, Lease
from worker.context import WorkerContext
from worker.gathering import Gathering, gather, has_clone_to_gather
from worker.kinds.base import WorkerKind
from worker.kinds.work.end import facts_of, write_down
from worker.kinds.work.start import prepare_agent
from worker.next_step import decide_next, judge_ending
from worker.prepared import Prepared
from worker.running import Exit, Running


class WorkKind(WorkerKind):
    """Jobs whose agent does its task."""

    def prepare(
        self,
        context: WorkerContext,
        job: Job,
        lease: Lease,
        history: Sequence[Attempt],
        paths: AttemptPaths,
    ) -> Prepared:
        """Return its session, its plan and the launch of its CLI; its task is marked as taken."""
        return prepare_agent(context, job, lease, history, paths)

    def gathering(self, context: WorkerContext, running: Running) -> Gathering | None:
        """Return what brings its work back from its clone, if it has one."""
        job = running.job
        if not has_clone_to_gather(context, job):
            return None
        return Gathering(job, lambda: gather(context, job, running.task))

    def judge(
        self, context: WorkerContext, running: Running, job: Job, exit_facts: Exit | None
    ) -> Verdict:
        """Return what its output, its program's end and its task's status show."""
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
        """Change its task as the step asks, and the job with it."""
        write_down(context, running, job, verdict, following)


KIND = WorkKind()
