"""What the next attempt of a job without an agent starts: a program of ours, and its orders.

Owns the orders of each such program: what it is to do is found out here, once,
so that what was looked at (that its command lines are accepted, say) is what it
does. The order of a start is `launch`.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from sow import own_variables
from sow.attempts.launch import path_with_sow
from sow.config.checks import checks_of, chosen, read_repository
from sow.environment import agent_environment, own_environment, own_process
from sow.ids import AttemptId, TaskId
from sow.paths import AttemptPaths
from sow.processes import facts
from sow.schema.job import Attempt, Job, Lease
from sow.schema.kinds import kind_of
from sow.schema.task import Task
from sow.state.tasks import read_task
from sow.trust.accepted import refuse_untrusted
from worker.context import WorkerContext
from worker.prepared import Prepared
from worker.steps.orders import CheckOrders

Orders = Callable[[WorkerContext, Job, Task | None, AttemptPaths], msgspec.Struct]


def prepare_step(
    context: WorkerContext,
    job: Job,
    _lease: Lease,
    _history: Sequence[Attempt],
    paths: AttemptPaths,
) -> Prepared:
    """Return what the next attempt of a job without an agent starts.

    Raises NotTrusted where a person has to say a word first, SowError where it
    cannot be started now, or ever.
    """
    step = kind_of(job).step
    assert step is not None  # noqa: S101 - agents' jobs are `agent_start`'s
    task = read_task(context.workspace, TaskId(job.task_id)) if job.task_id else None
    orders = ORDERS[step](context, job, task, paths)

    def environment(attempt_id: AttemptId) -> Mapping[str, str]:
        return _environment(context, job, attempt_id)

    return Prepared(
        verb=job.verb,
        argv=own_process("worker.steps", step),
        cwd=context.workspace.root / job.cwd,
        stdin=msgspec.json.encode(orders).decode(),
        environment=environment,
        task=task,
        does=step,
    )


def _environment(context: WorkerContext, job: Job, attempt_id: AttemptId) -> dict[str, str]:
    """Return the environment of a program of ours; what it runs gets the user's own from it.

    What it runs is the repository's, which agents may edit: to `sow` it is an
    agent of a role that has no rights (`own_variables.STEP_ROLE`).
    """
    environ = agent_environment(context.environ)
    path = path_with_sow(job.path_variable)
    ours = {
        own_variables.ROOT: str(context.workspace.root),
        **({own_variables.TASK_ID: job.task_id} if job.task_id else {}),
        own_variables.JOB_ID: str(job.id),
        own_variables.ATTEMPT_ID: attempt_id,
        own_variables.AGENT: own_variables.STEP_ROLE,
    }
    return {**own_environment({**environ, "PATH": path}), **ours}


def _check(
    context: WorkerContext, job: Job, _task: Task | None, paths: AttemptPaths
) -> CheckOrders:
    """Return which command lines to run; they are those that were looked at here."""
    path = context.workspace.repository_config
    source = read_repository(path)
    names = job.terms.names if job.terms is not None else ()
    checks = checks_of(source)
    meant = chosen(checks, names, path)
    refuse_untrusted(context.workspace, source.content, context.environ)
    packages = facts.packages()
    return CheckOrders(
        folder=str(paths.folder),
        cwd=str(context.workspace.root / job.cwd),
        commands=tuple(checks.commands[name] for name in meant),
        packages=str(packages) if packages is not None else None,
    )


ORDERS: Mapping[str, Orders] = {"check": _check}
"""By the step's name in `sow.schema.kinds`."""
