"""What the next attempt of an agent's job starts: its session, its plan, the launch of its CLI.

Owns what only agents have before the start. The order of a start is `launch`.
"""

from collections.abc import Mapping, Sequence

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
from sow.environment import agent_environment
from sow.executors.registry import make_executor
from sow.ids import AttemptId
from sow.paths import AttemptPaths
from sow.schema.job import Attempt, Job, Lease
from worker.context import WorkerContext
from worker.kinds.work.clone import clone_of_attempt
from worker.prepared import Prepared
from worker.renewal import lacks_session, lost_attempts, mark_started, renew_session


def prepare_agent(
    context: WorkerContext,
    job: Job,
    lease: Lease,
    history: Sequence[Attempt],
    paths: AttemptPaths,
) -> Prepared:
    """Return what an agent's next attempt starts; its task is marked as taken.

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
    launch = launch_of(
        context.workspace,
        job,
        task,
        plan,
        executor,
        paths.prompt,
        clone=root,
        environ={**agent_environment(context.environ), **executor_variables(job, context.environ)},
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
