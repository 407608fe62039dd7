"""On whose behalf sow changes a task when a job of it begins, ends or is given up."""

from sow.schema.job import Job
from sow.state.authors import Author


def author_of_job(job: Job, attempt: int | None = None) -> Author:
    """Return sow itself, as the author of a change that it makes on behalf of a job."""
    return Author(role=job.agent, job=job.id, attempt=attempt)
