"""What stands around one job now and decides when it goes on: workers, limits, its caller.

Owns the looking, and what of it keeps a job that is due from its start. The words
are those of `explain`, at length, and of `standing`, in short. Changes nothing.
"""

from dataclasses import dataclass
from enum import Enum, auto

from sow.jobs import control, leases, workers
from sow.jobs.database import Database
from sow.jobs.unverifiable import is_in_doubt
from sow.paths import Workspace
from sow.processes import facts
from sow.processes.facts import Life
from sow.reports.activity import Activity, activity_of
from sow.reports.task_now import NOT_LOOKED_AT, TaskNow, look_at_task
from sow.schema.job import Job


@dataclass(frozen=True)
class Surroundings:
    """The facts beside a job's own records."""

    paused_since: str | None = None
    """Since when the queue is paused, as ISO 8601; None while it is not."""
    workers: int = 0
    """How many workers live."""
    capacity: int = 0
    """How many agents the living workers run at once."""
    running: int = 0
    """How many slots are taken, by any executor."""
    running_alike: int = 0
    """How many of them by the job's executor."""
    worker_lives: bool = True
    """Whether the worker that runs the job lives; true where none does."""
    caller_lives: bool = True
    """Whether the call that is placing the job lives."""
    in_doubt: bool = False
    """Whether nobody here can tell if it still runs."""
    task: TaskNow = NOT_LOOKED_AT
    """How the job's task stands, where the job has ended."""
    activity: Activity | None = None
    """What its agent does; None where it does not run, or has printed nothing."""


class Obstacle(Enum):
    """What keeps a job that is due from its start, the first that holds."""

    PAUSED = auto()
    NO_WORKER = auto()
    EXECUTOR_FULL = auto()
    ALL_FULL = auto()


def obstacle_of(job: Job, around: Surroundings) -> Obstacle | None:
    """Return what keeps a job that is due from its start; None where nothing does."""
    most = job.executor.max_parallel if job.executor is not None else None
    if around.paused_since is not None:
        return Obstacle.PAUSED
    if not around.workers:
        return Obstacle.NO_WORKER
    if most is not None and around.running_alike >= most:
        return Obstacle.EXECUTOR_FULL
    return Obstacle.ALL_FULL if around.running >= around.capacity else None


def look_around(workspace: Workspace, database: Database, job: Job, *, now: float) -> Surroundings:
    """Return what stands around a job. Raises QueueError when the records cannot be read."""
    alive = [
        record for record in workers.registered(database) if workers.is_alive(workspace, record.id)
    ]
    taken = control.running_by_executor(database)
    lease = leases.lease_of(database, job.id)
    return Surroundings(
        paused_since=control.paused_since(database),
        workers=len(alive),
        capacity=max((record.concurrency for record in alive), default=0),
        running=sum(taken.values()),
        running_alike=taken.get(job.executor_name, 0),
        worker_lives=lease is None or workers.is_alive(workspace, lease.worker_id),
        caller_lives=job.caller is None
        or facts.life_of(job.caller, workspace.run) is not Life.DEAD,
        in_doubt=is_in_doubt(workspace, database, job),
        task=look_at_task(workspace, job) if job.state.is_final else NOT_LOOKED_AT,
        activity=activity_of(workspace, job, now),
    )
