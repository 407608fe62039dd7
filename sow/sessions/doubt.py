"""Jobs of which nobody here can tell whether they still run, and a person's word on them.

Owns which jobs those are: an agent, or a caller that was still placing its
job, in another pid namespace. They are never called dead and never signalled;
what may be resolved is only what cannot be proved.
"""

from collections.abc import Iterable

from sow.errors import StateError
from sow.ids import JobId
from sow.jobs import jobs, proof, workers
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.processes import facts
from sow.processes.facts import Life
from sow.schema.job import Job, JobState
from sow.sessions.caller import Caller
from sow.sessions.unfinished import finish


class NothingToResolve(StateError):
    """The job has ended, or whether it lives can be told without anybody's word."""

    def __init__(self, job: Job, why: str) -> None:
        super().__init__(
            f"nothing to resolve: {why}",
            hint=f"`sow job explain {job.id}` tells where it stands, "
            f"`sow job cancel {job.id}` ends it.",
        )


def is_in_doubt(workspace: Workspace, database: Database, job: Job) -> bool:
    """Whether nobody here can tell if a job's agent, or the caller that places it, still runs."""
    if job.state is JobState.PREPARING:
        return job.caller is not None and facts.life_of(job.caller) is Life.UNVERIFIABLE
    if job.state is not JobState.RUNNING:
        return False
    attempt = jobs.last_attempt(database, job.id)
    if attempt is None or attempt.number <= job.settled:
        return False
    return proof.is_in_doubt(attempt, workspace.attempt(job.id, attempt.number))


def in_doubt(workspace: Workspace, database: Database, some: Iterable[Job]) -> frozenset[JobId]:
    """Return those of some jobs of which nobody can tell whether they run."""
    return frozenset(job.id for job in some if is_in_doubt(workspace, database, job))


def declare_gone(caller: Caller, database: Database, job: Job) -> Job:
    """Go on as if what runs of a job in doubt were gone; return the job as it stands then.

    A job that was being placed is queued or undone; one that ran is gone on
    with by a worker. Raises NothingToResolve.
    """
    if job.state.is_final:
        raise NothingToResolve(job, f"job {job.id} has ended ({job.state})")
    if not is_in_doubt(caller.workspace, database, job):
        raise NothingToResolve(job, f"sow can tell by itself how job {job.id} stands")
    if job.state is JobState.PREPARING:
        finish(caller.workspace, database, job, now=caller.now())
    else:
        _give_up(caller.workspace, database, job)
    workers.wake(caller.workspace)
    return jobs.get_job(database, job.id)


def _give_up(workspace: Workspace, database: Database, job: Job) -> None:
    attempt = jobs.last_attempt(database, job.id)
    assert attempt is not None  # noqa: S101 - it is in doubt
    if not proof.declare_void(workspace.attempt(job.id, attempt.number)):
        raise NothingToResolve(job, f"the agent of job {job.id} holds its lock: it lives")
