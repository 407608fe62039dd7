"""Letting held jobs go on: each once the command lines that it needs are accepted.

Owns which of them may. `sow trust` asks at once, and a worker looks besides.
"""

from collections.abc import Mapping

from sow.config.checks import read_repository
from sow.config.source import Source
from sow.errors import StateError
from sow.ids import JobId
from sow.jobs import jobs, leases
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.schema.config import RepositoryConfigFile
from sow.schema.job import HeldFor, Job
from sow.trust.accepted import NotTrusted, refuse_untrusted
from sow.trust.needed import needed_keys


def release_accepted(
    workspace: Workspace, database: Database, environ: Mapping[str, str], *, now: float
) -> list[JobId]:
    """Queue the held jobs whose command lines are accepted; return which.

    Raises InvalidConfiguration, TrustFileBroken.
    """
    held = jobs.held_jobs(database, HeldFor.TRUST)
    if not held:
        return []
    source = read_repository(workspace.repository_config)
    free = [job.id for job in held if _may_go_on(workspace, job, source, environ)]
    return leases.release_held(database, free, now=now)


def _may_go_on(
    workspace: Workspace,
    job: Job,
    source: Source[RepositoryConfigFile],
    environ: Mapping[str, str],
) -> bool:
    path = workspace.repository_config
    try:
        keys = needed_keys(job, source, path)
        refuse_untrusted(workspace, source.content, environ, keys=keys)
    except NotTrusted:
        return False
    except StateError:
        return True  # it names a check that is none any more: its start says so
    return True
