"""The throw-away clones of reviews: the end of one, and what those have left whose worker died.

Owns which of them may go: those of jobs that do not live.
"""

from pathlib import Path

from msgspec import UNSET

from sow.clones.main_checkout import main_checkout
from sow.clones.throw_away_clone import remove_review_clone, review_place, sweep_reviews
from sow.config.checks import read_repository
from sow.config.clones import clone_settings
from sow.errors import SowError
from sow.ids import JobId
from sow.jobs import jobs
from sow.jobs.jobs import UnknownJob
from sow.schema.job import Job
from sow.schema.task import Task
from worker.context import WorkerContext, tell


def sweep_reviews_of(context: WorkerContext, folder: Path) -> None:
    """Delete what reviews that are over have left in a folder of clones."""
    sweep_reviews(folder, lambda job_id: is_live(context, job_id))


def is_live(context: WorkerContext, job_id: int) -> bool:
    """Whether a job is on record and has not ended."""
    try:
        return not jobs.get_job(context.database, JobId(job_id)).state.is_final
    except UnknownJob:
        return False


def end_review_clone(context: WorkerContext, job: Job, task: Task) -> None:
    """Delete the throw-away clone of a review that has ended; what cannot be is swept later."""
    if task.clone is UNSET:
        return
    try:
        settings, _ = clone_settings(read_repository(context.workspace.repository_config))
        main = main_checkout(context.workspace, settings)
        remove_review_clone(review_place(main.place(task), job.id))
    except SowError as error:
        tell(job, f"its temporary clone is removed later: {error.message}")
