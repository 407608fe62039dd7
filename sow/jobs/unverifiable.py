"""Jobs of which nobody here can tell whether they still run.

Owns which jobs those are: an agent, its worker, or a caller that was still
placing the job, seen by another machine or in another pid namespace, where no
lock tells either (`elsewhere`). They are never called dead and never signalled.
What another host has of a queue that is shared is not among them: its deadline
tells.
"""

from collections.abc import Iterable

from sow.ids import JobId
from sow.jobs import attempt_evidence, jobs, leases, workers
from sow.jobs.database import Database
from sow.jobs.elsewhere import is_caller_gone
from sow.paths import Workspace
from sow.processes import process_facts
from sow.processes.life import Life
from sow.schema.job import Job, JobState


def is_in_doubt(workspace: Workspace, database: Database, job: Job) -> bool:
    """Whether nobody here can tell if a job's agent, or the caller that places it, still runs."""
    if database.is_shared and _is_of_another_host(database, job):
        return False
    if job.state is JobState.PREPARING:
        return (
            job.caller is not None
            and process_facts.life_of(job.caller, workspace.run) is Life.UNVERIFIABLE
            and not is_caller_gone(workspace, database, job, now=job.created_at)
        )
    if job.state is not JobState.RUNNING:
        return False
    attempt = jobs.last_attempt(database, job.id)
    if attempt is None or attempt.number <= job.settled:
        return has_unverifiable_worker(workspace, database, job)
    if attempt_evidence.is_locked(workspace.attempt(job.id, attempt.number)):
        return False
    if has_unverifiable_worker(workspace, database, job):
        return True
    return attempt_evidence.is_in_doubt(attempt, workspace.attempt(job.id, attempt.number))


def _is_of_another_host(database: Database, job: Job) -> bool:
    # Few queues are shared.
    from sow.jobs.hosts import is_queued_elsewhere, runs_elsewhere

    if job.state is JobState.RUNNING:
        return runs_elsewhere(database, job.id)
    return job.state is JobState.PREPARING and is_queued_elsewhere(database, job.id)


def has_unverifiable_worker(workspace: Workspace, database: Database, job: Job) -> bool:
    """Whether nobody here can tell if the worker that holds a job's lease lives."""
    lease = leases.lease_of(database, job.id)
    if lease is None:
        return False
    record = workers.find(database, lease.worker_id)
    return workers.life_of(database, workspace, lease.worker_id, record) is Life.UNVERIFIABLE


def in_doubt(workspace: Workspace, database: Database, some: Iterable[Job]) -> frozenset[JobId]:
    """Return those of some jobs of which nobody can tell whether they run."""
    return frozenset(job.id for job in some if is_in_doubt(workspace, database, job))
