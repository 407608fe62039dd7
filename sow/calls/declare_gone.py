"""A person's word that what runs of a job is gone, where nobody here can tell.

Owns what may be resolved that way: only what cannot be proved
(`sow.jobs.unverifiable`).
"""

from sow.calls.caller import Caller
from sow.calls.job_end import finish
from sow.errors import StateError
from sow.jobs import attempt_evidence, jobs, leases, workers
from sow.jobs.database import Database
from sow.jobs.unverifiable import has_unverifiable_worker, is_in_doubt
from sow.paths import Workspace
from sow.schema.job import Job, JobState


class NothingToResolve(StateError):
    """The job has ended, or whether it lives can be told without anybody's word."""

    def __init__(self, job: Job, why: str) -> None:
        super().__init__(
            f"nothing to resolve: {why}",
            hint=f"`sow job explain {job.id}` shows its state; `sow job cancel {job.id}` cancels"
            " it.",
        )


def declare_gone(caller: Caller, database: Database, job: Job) -> Job:
    """Go on as if what runs of a job in doubt were gone; return the job as it stands then.

    A job that was being placed is queued or undone; one that ran is gone on
    with by a worker. Raises NothingToResolve.
    """
    if job.state.is_final:
        raise NothingToResolve(job, f"job {job.id} has ended ({job.state})")
    if not is_in_doubt(caller.workspace, database, job):
        raise NothingToResolve(job, f"sow can see by itself whether job {job.id} still runs")
    if job.state is JobState.PREPARING:
        finish(caller.workspace, database, job, now=caller.now())
    else:
        _give_up(caller.workspace, database, job)
    workers.wake(caller.workspace)
    return jobs.get_job(database, job.id)


def _give_up(workspace: Workspace, database: Database, job: Job) -> None:
    if has_unverifiable_worker(workspace, database, job):
        _strike_off_worker(workspace, database, job)
    attempt = jobs.last_attempt(database, job.id)
    if attempt is None or attempt.number <= job.settled:
        return  # it was claimed, and nothing of it was begun
    if not attempt_evidence.declare_void(workspace.attempt(job.id, attempt.number), attempt.id):
        raise NothingToResolve(job, f"the agent of job {job.id} still runs: it holds its lock")


def _strike_off_worker(workspace: Workspace, database: Database, job: Job) -> None:
    """Take a worker off the record on a person's word; recovery then goes on with what it held.

    Should it live after all: what it writes about these jobs is fenced by then.
    """
    lease = leases.lease_of(database, job.id)
    if lease is not None:
        workers.unregister(database, lease.worker_id)
        workspace.worker_lock(lease.worker_id).unlink(missing_ok=True)
