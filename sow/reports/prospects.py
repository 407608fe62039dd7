"""What stands around one job now and decides when it goes on: workers, limits, its caller.

Owns the looking, and what of it keeps a job that is due from its start. The words
are those of `explain`, at length, and of `standing`, in short. Changes nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto

from msgspec import Struct

from sow.ids import WorkerId
from sow.jobs import control, leases, workers
from sow.jobs.database import Database
from sow.jobs.hosts import (
    Host,
    Ran,
    host_of,
    hosts_of,
    is_queued_elsewhere,
    lacking_for,
    most_agents,
    runs_elsewhere,
    where_attempts_ran,
)
from sow.jobs.server_deadlines import is_heard
from sow.jobs.unverifiable import is_in_doubt
from sow.paths import Workspace
from sow.processes import process_facts
from sow.processes.life import Life
from sow.reports.activity import Activity, activity_of
from sow.reports.task_now import NOT_LOOKED_AT, TaskNow, look_at_task
from sow.schema.job import Job, JobState, Lease, WorkerRecord
from sow.schema.kinds import kind_of

MANY = 1 << 30
"""No limit."""


class Surroundings(Struct, frozen=True):
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
    """How many of them by the job's executor; of a job without an agent, how many such run."""
    most_alike: int | None = None
    """How many of them may run on all hosts of a shared queue together; None for no limit."""
    checks: int = 0
    """How many jobs without an agent the living workers run at once."""
    short_of: str = ""
    """What every living worker is short of, so that none takes a job; empty where one may."""
    worker_lives: bool = True
    """Whether the worker that runs the job lives; true where none does."""
    caller_lives: bool = True
    """Whether the call that is placing the job lives."""
    in_doubt: bool = False
    """Whether nobody here can tell if it still runs."""
    host: Host | None = None
    """The host that runs it, of a queue that several share; None where none does."""
    ran: Mapping[int, Ran] = {}
    """Where each of its attempts ran, by number, as far as hosts of such a queue are on record."""
    lacks: str = ""
    """For what it waits that no host offers which is heard; empty where one may take it."""
    task: TaskNow = NOT_LOOKED_AT
    """How the job's task stands, where the job has ended."""
    activity: Activity | None = None
    """What its agent does; None where it does not run, or has printed nothing."""

    @property
    def ran_on(self) -> str | None:
        """The host that runs it, or else had its last attempt, as people call it."""
        if self.host is not None:
            return self.host.name
        return self.ran[max(self.ran)].host if self.ran else None


class Obstacle(Enum):
    """What keeps a job that is due from its start, the first that holds."""

    PAUSED = auto()
    NO_WORKER = auto()
    SHORT = auto()
    NO_HOST = auto()
    EXECUTOR_FULL = auto()
    CHECKS_FULL = auto()
    ALL_FULL = auto()


def obstacle_of(job: Job, around: Surroundings) -> Obstacle | None:
    """Return what keeps a job that is due from its start; None where nothing does."""
    most = job.executor.max_parallel if job.executor is not None else None
    if around.paused_since is not None:
        return Obstacle.PAUSED
    if not around.workers:
        return Obstacle.NO_WORKER
    if around.short_of:
        return Obstacle.SHORT
    if around.lacks:
        return Obstacle.NO_HOST
    if not kind_of(job).is_agents:
        return Obstacle.CHECKS_FULL if around.running_alike >= around.checks else None
    most = around.most_alike if most is None else most
    if most is not None and around.running_alike >= most:
        return Obstacle.EXECUTOR_FULL
    return Obstacle.ALL_FULL if around.running >= around.capacity else None


class Staff(Struct, frozen=True):
    """What stands around every job alike: the workers, and how many slots are taken."""

    paused_since: str | None
    alive: Sequence[WorkerRecord]
    taken: Mapping[str, int]
    hosts: Sequence[Host] = ()
    """Those that share the queue; none where it is one's own."""
    most: Mapping[str, int] = {}
    """How many agents run on all of them at once, by executor; `""` for all."""

    @property
    def workers(self) -> int:
        """How many workers live."""
        return len(self.alive)


def look_at_staff(workspace: Workspace, database: Database) -> Staff:
    """Return what stands around every job alike. Raises QueueError."""
    alive = workers.living(database, workspace)
    taken = control.running_by_executor(database)
    if not database.is_shared:
        return Staff(control.paused_since(database), alive, taken)
    hosts, most = hosts_of(database), most_agents(database)
    return Staff(control.paused_since(database), alive, taken, hosts, most)


def _lives(workspace: Workspace, database: Database, worker_id: WorkerId) -> bool:
    if database.is_shared and database.is_elsewhere(worker_id):
        return is_heard(database, worker_id)
    return workers.is_alive(workspace, worker_id)


def _is_elsewhere(database: Database, job: Job) -> bool:
    """Whether what a job's agent writes lies on another host."""
    is_running = job.state is JobState.RUNNING
    return database.is_shared and is_running and runs_elsewhere(database, job.id)


def _in_all(staff: Staff, limit: Callable[[WorkerRecord], int]) -> int:
    """Return how many run at once: a limit counts for a project, or for each host of a queue."""
    found: dict[str, int] = {}
    for worker in staff.alive:
        host = host_of(worker.id)
        found[host] = max(found.get(host, 0), limit(worker))
    return sum(found.values())


def _host_of(staff: Staff, lease: Lease | None) -> Host | None:
    """Return the host that has a lease, of a queue that several share."""
    if lease is None:
        return None
    its = host_of(lease.worker_id)
    return next((host for host in staff.hosts if host.id == its), None)


def _lacks(database: Database, staff: Staff, job: Job) -> str:
    """Return for what a job waits that no host offers, in a queue that several share."""
    if not database.is_shared or job.state.is_final or job.state is JobState.RUNNING:
        return ""
    return lacking_for(database, staff.hosts, job)


def look_around(
    workspace: Workspace, database: Database, job: Job, *, now: float, staff: Staff | None = None
) -> Surroundings:
    """Return what stands around a job. Raises QueueError when the records cannot be read.

    `staff` is what a look at another job has found a moment ago.
    """
    staff = staff or look_at_staff(workspace, database)
    lease = leases.lease_of(database, job.id)
    return Surroundings(
        paused_since=staff.paused_since,
        workers=staff.workers,
        capacity=min(staff.most.get("", MANY), _in_all(staff, lambda each: each.concurrency)),
        running=sum(count for name, count in staff.taken.items() if name),
        running_alike=staff.taken.get(job.executor_name, 0),
        most_alike=staff.most.get(job.executor_name) if job.executor_name else None,
        checks=_in_all(staff, lambda each: each.checks),
        short_of=workers.shortage_of(staff.alive),
        worker_lives=lease is None or _lives(workspace, database, lease.worker_id),
        caller_lives=job.caller is None
        or process_facts.life_of(job.caller, workspace.run) is not Life.DEAD
        or (database.is_shared and is_queued_elsewhere(database, job.id)),
        in_doubt=is_in_doubt(workspace, database, job),
        host=_host_of(staff, lease),
        ran=where_attempts_ran(database, job.id) if database.is_shared else {},
        lacks=_lacks(database, staff, job),
        task=look_at_task(workspace, job, database) if job.state.is_final else NOT_LOOKED_AT,
        activity=None if _is_elsewhere(database, job) else activity_of(workspace, job, now),
    )
