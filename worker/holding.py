"""Jobs that wait for a person's word: put aside by their start, and queued again once it is said.

Owns both, and the look for a word that was said in another process: `sow trust`
queues what is held, but may have been a moment too early to see it.
"""

from sow.calls.held_jobs import release_accepted
from sow.errors import SowError
from sow.jobs import leases
from sow.schema.job import Job, Lease
from sow.trust.accepted import NotTrusted
from worker.context import WorkerContext, logger, tell


def hold(context: WorkerContext, job: Job, lease: Lease, error: NotTrusted) -> None:
    """Put a job aside until its command lines are accepted. Raises Fenced, EndIsAsked."""
    tell(job, f"held: {error.message}")
    leases.hold(context.database, lease, reason=error.message)
    release_if_trusted(context)  # it may have been accepted between our look and this commit


def release_if_trusted(context: WorkerContext) -> None:
    """Queue each job that is held once the command lines that it needs are accepted."""
    try:
        released = release_accepted(
            context.workspace, context.database, context.environ, now=context.now()
        )
    except SowError as error:  # broken settings: a job that is started says so
        logger.info("held jobs are looked at again: %s", error.message)
        return
    if released:
        logger.info("goes on, for its command lines are accepted: job %s", released)
