"""Another session, where a CLI that makes the ids itself does not know the one it had made.

Owns the one case in which a worker obtains a session: the session never
started, so nothing is lost with it, and a spawn by its id would be refused
again. A session that has started is never replaced here.
"""

from collections.abc import Sequence

from sow.environment import agent_environment
from sow.executors.base import Executor, SessionSource
from sow.schema.job import Attempt, Cause, Job, Lease
from sow.schema.task import Task
from sow.sessions.allocation import run_command, session_fields
from sow.sessions.launching import executor_variables, path_with_sow
from worker.context import WorkerContext, tell
from worker.taskstate import change_under_lease


def lacks_session(task: Task, executor: Executor, history: Sequence[Attempt]) -> bool:
    """Whether the session on record is one that its CLI has made, never begun, and forgotten."""
    return (
        executor.session_source is SessionSource.CREATED
        and not task.session_started
        and bool(history)
        and history[-1].cause is Cause.SESSION_UNKNOWN
    )


def renew_session(context: WorkerContext, job: Job, lease: Lease, executor: Executor) -> Task:
    """Have the CLI make a session and put it on record; return the task with it.

    No lock is held meanwhile. Raises ExecutorError where the CLI makes none.
    """
    environ = {
        **agent_environment(context.environ),
        **executor_variables(job, context.environ),
        "PATH": path_with_sow(job.path_variable),
    }
    cwd = context.workspace.root / job.cwd
    session = executor.create_session(lambda argv: run_command(argv, cwd, environ))
    tell(job, f"its CLI does not know the session it had made, and has made {session.id}")
    fields = session_fields(session, executor=executor.name, cwd=job.cwd)
    return change_under_lease(context, job, lease, lambda _: fields)
