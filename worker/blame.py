"""Whether the death of a worker or a supervisor can be the fault of the job that ran under it.

Owns what speaks for a common cause: the machine was started anew, several
workers had died at once, or another job lost its supervisor and its agent at
the same time. What follows from it is `retry`.
"""

from pathlib import Path

from sow.ids import JobId
from sow.jobs import attempt_evidence, jobs, leases
from sow.jobs.hosts import runs_elsewhere
from sow.processes import process_facts
from sow.processes.life import Life
from sow.schema.job import ProcessIdentity
from worker.context import WorkerContext
from worker.running import Running

TOGETHER_SECONDS = 10.0
"""How far apart deaths may be found that belong together: the ends of many jobs take their time."""
NOT_COUNTED = "it does not count, since "
"""Goes before the excuse in the reason of an attempt; a worker that takes over reads it there."""


def excuse_of(context: WorkerContext, running: Running) -> str:
    """Return why an attempt's death cannot be its job's fault; empty where it may be."""
    supervisor = running.attempt.supervisor
    by_boot = excuse_by_boot(supervisor, running.paths.folder)
    if by_boot:
        return by_boot
    return running.excuse or excuse_by_others(context, running.job.id)


def excuse_by_boot(process: ProcessIdentity | None, folder: Path) -> str:
    """Return the excuse for what died with a boot; empty for a process of this one.

    `folder` is one that it worked in.
    """
    if process is None or not process_facts.is_of_another_boot(process, folder):
        return ""
    return "the machine was restarted"


def excuse_by_count(dead: int) -> str:
    """Return the excuse for what died when so many workers were dead at once."""
    return f"{dead} workers died at the same time" if dead > 1 else ""


def excuse_by_others(context: WorkerContext, job_id: JobId) -> str:
    """Return the excuse for what died together with another job's supervisor and agent."""
    since = context.now() - TOGETHER_SECONDS
    others = jobs.died_since(context.database, since)
    others |= {other for other in leases.leased_jobs(context.database) if _is_lost(context, other)}
    others.discard(job_id)
    if context.database.is_shared:
        others = {other for other in others if not runs_elsewhere(context.database, other)}
    if not others:
        return ""
    named = ", ".join(map(str, sorted(others)[:3]))
    return f"the agents of other jobs died at the same time (job {named})"


def _is_lost(context: WorkerContext, job_id: JobId) -> bool:
    """Whether a job's supervisor and agent are gone, and nobody wrote down how they ended."""
    attempt = jobs.last_attempt(context.database, job_id)
    if attempt is None or attempt.supervisor is None or attempt.cause is not None:
        return False
    if context.database.is_shared and context.database.is_elsewhere(attempt.worker_id):
        return False
    paths = context.workspace.attempt(job_id, attempt.number)
    if attempt_evidence.has_exit(paths, attempt.id):
        return False
    if attempt_evidence.life_of_supervisor(attempt.supervisor, paths) is not Life.DEAD:
        return False
    return not attempt_evidence.is_locked(paths)
