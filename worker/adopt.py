"""Taking a lease over: an attempt that another worker began goes under our watch.

Owns what is made of a lease whose attempt this worker did not start itself. It
does not ask whether the agent still runs: the monitor treats an attempt that
has ended like one that ends now.
"""

import time

from sow.environment import agent_environment
from sow.errors import StateError
from sow.executors.registry import make_executor
from sow.ids import TaskId
from sow.jobs import jobs, leases, workers
from sow.schema.job import Cause, JobState, Lease
from sow.schema.task import Task
from sow.state.tasks import read_task
from worker.context import WorkerContext, tell
from worker.output import OutputReader
from worker.retry import MOST_WORKER_DEATHS
from worker.running import Running


def adopt(context: WorkerContext, lease: Lease) -> Running | None:
    """Return the job's unsettled attempt for the monitor; where none was begun, requeue the job."""
    job = jobs.get_job(context.database, lease.job_id)
    attempt = jobs.last_attempt(context.database, job.id)
    if attempt is None or attempt.number <= job.settled:
        _put_back(context, lease)
        return None
    paths = context.workspace.attempt(job.id, attempt.number)
    executor = make_executor(job.executor)
    tell(job, f"adopted: attempt {attempt.number}")
    return Running(
        lease=lease,
        job=job,
        attempt=attempt,
        task=_task(context, TaskId(job.task_id)),
        paths=paths,
        executor=executor,
        output=OutputReader(paths.output, executor),
        environ=agent_environment(context.environ),
        begun_at=time.monotonic() - max(0.0, context.now() - attempt.created_at),
    )


def _task(context: WorkerContext, task_id: TaskId) -> Task | None:
    try:
        return read_task(context.workspace, task_id)
    except StateError:
        return None


def _put_back(context: WorkerContext, lease: Lease) -> None:
    """Queue a job again whose worker died before it began the next attempt."""
    job = jobs.get_job(context.database, lease.job_id)
    deaths = job.worker_deaths + 1
    now = context.now()
    if deaths >= MOST_WORKER_DEATHS:
        from sow.errors import SowError
        from worker.settle import fail_before_start

        error = SowError(f"set aside: its worker died {deaths} times before the agent had started")
        fail_before_start(context, job, lease, error, cause=Cause.WORKER_DIED)
        return
    try:
        leases.requeue(
            context.database,
            lease,
            state=JobState.QUEUED,
            retry_at=job.retry_at,
            now=now,
            worker_deaths=deaths,
        )
    except leases.EndIsAsked:
        from worker.settle import cancel_unstarted

        cancel_unstarted(context, job, lease)
        return
    tell(job, "queued again: its worker died")
    workers.wake(context.workspace)
