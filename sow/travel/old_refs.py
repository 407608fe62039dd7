"""The refs by which the work of old jobs has travelled, removed from the remote by their home.

Owns which those are. What they name was brought home before: the job owes its task nothing. Only
refs of the forms that sow gives them are removed, whatever the records say.
"""

from collections.abc import Iterator

from sow.clones.main_checkout import checkout_of, known_settings
from sow.git.remote import remote_of
from sow.jobs import travels
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.travel.names import REFS, attempt_ref, is_attempt_ref, outward_ref


def remove_old_refs(
    workspace: Workspace, database: Database, remote_name: str, *, oldest: float
) -> list[str]:
    """Remove the refs of jobs that were queued here and ended before `oldest`; return them.

    Nobody asks the remote where there are no such jobs. Raises NoRemote, RemoteRefused, GitRefused.
    """
    refs = {ref for job in travels.ended_before(database, oldest) for ref in _refs_of(job)}
    if not refs:
        return []
    here = checkout_of(workspace, known_settings(workspace))
    return remote_of(here.repository, remote_name).remove_refs(refs, below=REFS)


def _refs_of(job: travels.Travelled) -> Iterator[str]:
    travel, project = job.travel, job.project_id
    is_own = travel.ref == outward_ref(project, job.task_id, travel.packed)
    if is_own and not job.shares_ref:
        yield travel.ref
    for number, attempt_id in job.attempts.items():
        ref = attempt_ref(project, attempt_id)
        if is_attempt_ref(ref, project, travel.job_id, number):
            yield ref
