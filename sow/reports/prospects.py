"""What stands around one job now and decides when it goes on: workers, limits, its caller.

Owns the looking; what it means is told by `explain`. Changes nothing.
"""

from dataclasses import dataclass

from sow.ids import ProjectId
from sow.jobs import control, leases, workers
from sow.jobs.database import Database
from sow.jobs.unverifiable import is_in_doubt
from sow.paths import Workspace
from sow.processes import facts
from sow.processes.facts import Life
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
    other_project: bool = False
    """Whether the job belongs to another project than the one that is checked out."""
    quiet_seconds: float | None = None
    """How long ago its agent wrote its last line; None where it does not run."""


def look_around(
    workspace: Workspace,
    database: Database,
    job: Job,
    *,
    quiet_seconds: float | None,
    project_id: ProjectId | None = None,
) -> Surroundings:
    """Return what stands around a job. Raises QueueError when the records cannot be read.

    `project_id` is the project that is checked out, where that is known.
    """
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
        running_alike=taken.get(job.executor.name, 0),
        worker_lives=lease is None or workers.is_alive(workspace, lease.worker_id),
        caller_lives=job.caller is None
        or facts.life_of(job.caller, workspace.run) is not Life.DEAD,
        in_doubt=is_in_doubt(workspace, database, job),
        other_project=project_id is not None and job.project_id != project_id,
        quiet_seconds=quiet_seconds,
    )
