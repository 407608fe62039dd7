"""What reviews have come to, as notes in the list of jobs: read from their tasks."""

from collections.abc import Mapping, Sequence

from msgspec import UNSET

from sow.calls.last_job import present_project
from sow.cli.verdict_words import steering_note
from sow.errors import StateError
from sow.ids import JobId
from sow.paths import Workspace
from sow.schema.job import Job
from sow.schema.task import Task
from sow.state.tasks import read_task


def verdict_notes(workspace: Workspace, reviews: Sequence[Job]) -> Mapping[JobId, str]:
    """Return the verdict of each review that is its task's last, with what the change steers.

    A job of another project, or of a task that is gone or cannot be read, has no note.
    """
    project_id = present_project(workspace)
    notes = {}
    for job in reviews:
        task = _read(workspace, job) if job.project_id == project_id else None
        if task is not None and task.review is not UNSET and task.review.job == job.id:
            words = (task.review.verdict.value, steering_note(task))
            notes[job.id] = "; ".join(word for word in words if word)
    return notes


def _read(workspace: Workspace, job: Job) -> Task | None:
    try:
        return read_task(workspace, job.task_id)
    except StateError:
        return None
