"""Jobs of which nobody here can tell whether they still run.

Owns which jobs those are: an agent, or a caller that was still placing its
job, in another pid namespace. They are never called dead and never signalled.
"""

from collections.abc import Iterable

from sow.ids import JobId
from sow.jobs import attempt_evidence, jobs
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.processes import facts
from sow.processes.facts import Life
from sow.schema.job import Job, JobState


def is_in_doubt(workspace: Workspace, database: Database, job: Job) -> bool:
    """Whether nobody here can tell if a job's agent, or the caller that places it, still runs."""
    if job.state is JobState.PREPARING:
        return job.caller is not None and facts.life_of(job.caller) is Life.UNVERIFIABLE
    if job.state is not JobState.RUNNING:
        return False
    attempt = jobs.last_attempt(database, job.id)
    if attempt is None or attempt.number <= job.settled:
        return False
    return attempt_evidence.is_in_doubt(attempt, workspace.attempt(job.id, attempt.number))


def in_doubt(workspace: Workspace, database: Database, some: Iterable[Job]) -> frozenset[JobId]:
    """Return those of some jobs of which nobody can tell whether they run."""
    return frozenset(job.id for job in some if is_in_doubt(workspace, database, job))
