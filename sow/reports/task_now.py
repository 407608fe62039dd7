"""How a job's task stands now, for advice about it: others may have gone on with it since.

Owns the looking. Changes nothing, and never raises: a task that cannot be read
is told in words. What reads a state is imported by the look: a list of jobs
looks at none.
"""

from msgspec import UNSET, Struct

from sow.errors import StateError
from sow.ids import ProjectId, TaskId
from sow.jobs import jobs
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.schema.job import Job
from sow.schema.kinds import kind_of
from sow.schema.task import ReviewVerdict, Task, TaskReview, TaskStatus


class TaskNow(Struct, frozen=True):
    """A task as a look at it has found it."""

    status: TaskStatus | None = None
    """Its status; None where nobody looked, or where it cannot be read."""
    review: TaskReview | None = None
    """The last verdict on it, if the job that is told of has given it."""
    feedback: str | None = None
    """The feedback file that holds what this verdict asks for."""
    has_clone: bool = False
    """Whether its work lies in a clone of its own, and so is merged."""
    author_resumes: bool = True
    """Whether its author can go on in its session; looked at where corrections wait for it."""
    missing: str = ""
    """Why no command can be given for it, as a sentence; empty where one can."""


NOT_LOOKED_AT = TaskNow()
MOST_JOBS = 100
"""How many jobs of a task are looked at, the newest."""


def look_at_task(workspace: Workspace, job: Job, database: Database | None = None) -> TaskNow:
    """Return how a job's task stands now; `database` tells of the jobs that it has had."""
    from sow.state.kept.store import project_id_at
    from sow.state.projects import read_project
    from sow.state.state_errors import UnknownTask
    from sow.state.tasks import read_task

    task_id = TaskId(job.task_id)
    try:
        is_here = project_id_at(workspace.root) == job.project_id
        if not is_here and read_project(workspace).id != job.project_id:
            return TaskNow(missing="Its task is of a project that is not checked out here.")
        return _now(job, read_task(workspace, task_id), database)
    except UnknownTask:
        return TaskNow(
            missing=f"The folder of task {task_id} is gone. `sow task list` shows what is there;"
            " git, or a backup, may have the folder."
        )
    except StateError as error:
        return TaskNow(missing=f"Its task cannot be read: {error.message}.")


def author_resumes(database: Database, project_id: ProjectId, task: Task) -> bool:
    """Whether a task's author can go on in its session, by the job that last worked on it."""
    from sow.executors.registry import make_executor  # only where work goes back to its author

    if not task.session_started:
        return False
    found = jobs.recent_jobs(
        database, limit=MOST_JOBS, project_id=project_id, task_id=TaskId(task.id)
    )
    last = next((job for job in found if kind_of(job).makes_work), None)
    return last is None or make_executor(last.agents_executor).supports_resumption


def _now(job: Job, task: Task, database: Database | None) -> TaskNow:
    has_clone = task.clone is not UNSET
    if task.review is UNSET:
        return TaskNow(task.status, has_clone=has_clone)
    from sow.state.verdicts import given_by, newest_feedback  # most tasks have none yet

    review = given_by(task, job)
    asks = review is not None and review.verdict is ReviewVerdict.CORRECTIONS
    feedback = newest_feedback(task) if asks else None
    resumes = not asks or database is None or author_resumes(database, job.project_id, task)
    return TaskNow(task.status, review, feedback, has_clone=has_clone, author_resumes=resumes)
