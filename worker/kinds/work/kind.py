"""The kind `work`, as a worker asks it: an agent does its task, in a session that it may resume.

Owns what only agents have before the start. The order of a start is `launch`; what an end does to
the task is `end`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sow import env_vars
from sow.attempts.launch import (
    environment_of,
    executor_variables,
    folder_of,
    launch_of,
    location_for,
    task_folder,
)
from sow.attempts.plan import plan_attempt
from sow.attempts.retry import Next
from sow.attempts.sessions import lost_attempts
from sow.environment import agent_environment
from sow.executors.base import Verdict
from sow.executors.registry import make_executor
from sow.ids import AttemptId
from sow.paths import AttemptPaths
from sow.schema.job import Attempt, Job, Lease
from worker.context import WorkerContext
from worker.gathering import Gathering, gather, has_clone_to_gather
from worker.kinds.base import WorkerKind
from worker.kinds.work.clone import clone_of_attempt
from worker.kinds.work.end import facts_of, write_down
from worker.next_step import decide_next, judge_ending, spent_by
from worker.prepared import Prepared
from worker.renewal import lacks_session, mark_started, renew_session
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
        """Return its session, its plan and the launch of its CLI; its task is marked as taken.

        Raises SowError where that cannot be started now, or ever.
        """
        task = mark_started(context, job, lease, history)
        executor = make_executor(job.agents_executor)
        executor.validate_availability(job.path_variable)
        if lacks_session(task, executor, history):
            task = renew_session(context, job, lease, executor)
        clone = clone_of_attempt(context, job, task, paths)
        root = clone.root if clone is not None else None
        folder = task_folder(context.workspace, task)
        location = location_for(folder, folder_of(context.workspace, job, root))
        lost = lost_attempts(context.database, task, history)
        plan = plan_attempt(
            job,
            task,
            history,
            executor,
            location,
            lost,
            workspace=context.workspace,
            clone=clone.brief if clone is not None else None,
        )
        inherited = agent_environment(context.environ)
        launch = launch_of(
            context.workspace,
            job,
            task,
            plan,
            executor,
            paths.prompt,
            clone=root,
            environ={**inherited, **executor_variables(job, context.environ)},
        )

        def environment(attempt_id: AttemptId) -> Mapping[str, str]:
            review = env_vars.REVIEWS_WHOLE if task.judges_whole else ""
            return environment_of(
                context.workspace, job, attempt_id, launch, context.environ, review=review
            )

        return Prepared(
            verb=plan.verb,
            argv=launch.argv,
            # The program that makes the clone goes there itself: it may not be there yet.
            cwd=context.workspace.root if clone is not None and clone.orders else launch.cwd,
            stdin=plan.prompt,
            environment=environment,
            task=task,
            does=f"{plan.verb} by {job.executor_name}",
            state_file=folder / "state.yaml",
            session_id=plan.session.id if plan.session else None,
            wrapper=clone.wrapper(paths) if clone is not None else (),
            files=clone.files(paths) if clone is not None else {},
            executor=executor,
        )

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
        spent = spent_by(job, running, verdict, following)
        write_down(context, running, job, verdict, following, spent)


KIND = WorkKind()
